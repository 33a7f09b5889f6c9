# MinIO is published as source only since 2025, and its images left Docker Hub in 2026. This is the version that
# Darkroom's own tests run against.
FROM golang:1.26-bookworm AS build
RUN CGO_ENABLED=0 go install github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c

FROM debian:bookworm-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates curl \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --uid 1000 minio \
  && mkdir /data \
  && chown minio:minio /data
COPY --from=build /go/bin/minio /usr/local/bin/minio
USER minio
VOLUME /data
ENTRYPOINT ["minio"]
CMD ["server", "/data"]

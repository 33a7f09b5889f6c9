# One image for API, worker and commands. glibc, since Temporal's core has no musl build. Node 22 is in long-term support.
FROM node:22-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY src/client/package.json src/client/
RUN npm ci
COPY prisma prisma
COPY scripts scripts
COPY src src
COPY tsconfig.json tsconfig.build.json ./
# Compiles, and bundles the workflows into dist/workflows.js, so that no worker does it at its start.
RUN PRISMA_SCHEMA_ENGINE_BINARY=/bin/true npx prisma generate && npm run build && npm prune --omit=dev

FROM node:22-bookworm-slim
# tini passes signals on and reaps what a SCAN_COMMAND leaves behind.
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates tini \
  && rm -rf /var/lib/apt/lists/*
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=build /app/prisma prisma
COPY --from=build /app/package.json ./
COPY docker docker
RUN mkdir -p /data/outputs && chown -R node:node /data
USER node
VOLUME /data
# Give Node about 80 % of the container's memory: NODE_OPTIONS=--max-old-space-size=<MiB>, as docker-compose.yml does.
ENV STORAGE_URL=file:///data/outputs WORKFLOW_BUNDLE=dist/workflows.js
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=6 \
  CMD ["node", "docker/health.mjs", "http://127.0.0.1:8080/readyz"]
ENTRYPOINT ["tini", "--"]
CMD ["node", "dist/api/main.js"]

# One image for API, worker and tools. glibc, since Temporal's core has no musl build.
FROM node:22-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY src/client/package.json src/client/
RUN npm ci
COPY prisma prisma
COPY scripts scripts
COPY src src
COPY tsconfig.json tsconfig.build.json ./
RUN PRISMA_SCHEMA_ENGINE_BINARY=/bin/true npx prisma generate && npm run build && npm prune --omit=dev

FROM node:22-bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=build /app/prisma prisma
COPY --from=build /app/package.json ./
RUN mkdir -p /data/outputs && chown -R node:node /data
USER node
VOLUME /data
ENV STORAGE_URL=file:///data/outputs WORKFLOW_BUNDLE=dist/workflows.js
CMD ["node", "dist/api/main.js"]

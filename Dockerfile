# One image for all apps and for the command line; what runs is the command of the service.

FROM node:20-bookworm-slim AS build
WORKDIR /app
# Dependencies first: they change less often than the sources.
COPY package.json package-lock.json ./
# A package of the documentation page reports its installs otherwise.
ENV SCARF_ANALYTICS=false
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY apps ./apps
COPY libs ./libs
COPY tools ./tools
COPY test ./test
# The optional packages are what `npm start` runs where there is no Docker.
RUN npm run build \
  && npm prune --omit=dev --omit=optional --no-audit --no-fund \
  && rm -rf dist/test dist/.tsbuildinfo

FROM node:20-bookworm-slim AS app
ENV NODE_ENV=production
WORKDIR /app
# Owned by root and run by another user: an app cannot change its own code.
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
# A new volume takes over owner and mode of the folder.
RUN mkdir /checkpoints && chown node:node /checkpoints
USER node
STOPSIGNAL SIGTERM
CMD ["node", "--enable-source-maps", "dist/apps/ingest/src/main.js"]

# The stock server with a store folder that its user owns: a new volume takes over owner and mode of the folder.
FROM nats:2.10-alpine AS nats
RUN mkdir -p /data/jetstream && chown -R 1000:1000 /data
USER 1000:1000

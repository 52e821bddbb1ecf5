# syntax=docker/dockerfile:1

# One file for both programs: docker build --build-arg PROGRAM=apiserver --build-arg VERSION=v1.2.3 .
# PROGRAM is the folder in cmd. What runs is a static binary, the world's certificate authorities (an
# instance may use one) and nothing else: no shell, no libc, nobody to log in as.

FROM --platform=$BUILDPLATFORM node:22-bookworm-slim AS ui
WORKDIR /src/ui/graphiql
COPY ui/graphiql/package.json ui/graphiql/package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY ui/graphiql ./
# vite writes into the folder that the program embeds.
RUN mkdir -p /src/graph/server/graphiql/dist
RUN npm run build

FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
COPY --from=ui /src/graph/server/graphiql/dist graph/server/graphiql/dist
ARG PROGRAM=apiserver VERSION TARGETOS TARGETARCH
# The same flags as hack/static.sh, which builds the same bytes without a container engine.
RUN GOOS=$TARGETOS GOARCH=$TARGETARCH hack/static.sh "$PROGRAM" "$VERSION" /kairship

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /kairship /kairship
USER 65532:65532
ENTRYPOINT ["/kairship"]

# One file for both programs: docker build --build-arg PROGRAM=apiserver --build-arg VERSION=v1.2.3 .
# PROGRAM is the folder in cmd. What runs is a static binary, the world's certificate authorities (an
# instance may use one) and nothing else: no shell, no libc, no user to log in as. Beside it are the
# licences of all that is in it.

# The images that build it, for releases by digest: --build-arg GO_IMAGE=golang:1.26-bookworm@sha256:…
# docs/operations.md says why no digest stands here.
ARG NODE_IMAGE=node:22-bookworm-slim GO_IMAGE=golang:1.26-bookworm

FROM --platform=$BUILDPLATFORM $NODE_IMAGE AS ui
WORKDIR /src/ui/graphiql
COPY ui/graphiql/package.json ui/graphiql/package-lock.json ./
RUN npm ci --no-audit --no-fund
WORKDIR /src/ui/console
COPY ui/console/package.json ui/console/package-lock.json ./
RUN npm ci --no-audit --no-fund
# vite writes into the folders that the program embeds.
RUN mkdir -p /src/graph/server/graphiql/dist /src/graph/server/console/dist
COPY ui/graphiql /src/ui/graphiql
RUN npm --prefix /src/ui/graphiql run build
COPY docs/schema.graphql /src/docs/schema.graphql
COPY ui/console /src/ui/console
RUN npm run build

FROM --platform=$BUILDPLATFORM $GO_IMAGE AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
COPY --from=ui /src/graph/server/graphiql/dist graph/server/graphiql/dist
COPY --from=ui /src/graph/server/console/dist graph/server/console/dist
ARG PROGRAM=apiserver VERSION TARGETOS TARGETARCH
# The same flags as hack/static.sh, which builds the same bytes without a container engine.
RUN GOOS=$TARGETOS GOARCH=$TARGETARCH hack/static.sh "$PROGRAM" "$VERSION" /kairship
# The texts of the modules are in Go's cache, those of the page's packages in npm's folder.
COPY --from=ui /src/ui/graphiql/node_modules ui/graphiql/node_modules
COPY --from=ui /src/ui/console/node_modules ui/console/node_modules
RUN mkdir /licenses && cp LICENSE /licenses/LICENSE && go run ./hack/licenses -texts /licenses/third-party.txt

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /licenses /licenses
COPY --from=build /kairship /kairship
USER 65532:65532
ENTRYPOINT ["/kairship"]

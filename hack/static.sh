#!/usr/bin/env bash
# Builds a program the way it is released: static, without the paths and the moment of the build in it,
# so that the same commit gives the same bytes anywhere.
#   hack/static.sh apiserver v1.2.3 bin/static/kairship-apiserver
# An empty version leaves it to the program to find out from its commit (buildversion.Of).
set -euo pipefail
program=${1:?the folder in cmd: apiserver, controller-manager or kubectl-kairship} version=${2-} output=$(realpath -m "${3:?the file to write}")
cd "$(dirname "$0")/.."

if [ "$program" = apiserver ] && [ -z "$(find graph/server/graphiql/dist -name 'index.html*' 2>/dev/null)" ]; then
  echo "==> kairship-apiserver is built without the GraphiQL page, which \`make ui\` builds with npm" >&2
fi

CGO_ENABLED=0 go build -trimpath -buildvcs=auto -ldflags "-s -w -buildid= -X main.version=$version" -o "$output" "./cmd/$program"

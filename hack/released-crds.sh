#!/usr/bin/env bash
# Keeps the definitions of a release, and begins its objects with those of the release before:
#   hack/released-crds.sh v1.2.3
set -euo pipefail
version=${1-}
cd "$(dirname "$0")/../pkg/apis/kairship/released"
if ! [[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]]; then
  echo "error: VERSION must be that of the release, such as v1.2.3, not \"$version\""
  exit 1
fi
if [ -e "$version" ]; then
  echo "error: $version was released already; what was published is never changed"
  exit 1
fi
before=$(printf '%s\n' v* | sort -V | tail -1)
mkdir -p "$version/crds"
cp ../../../../deploy/helm/kairship/crds/*.yaml "$version/crds/"
cp -r "$before/objects" "$version/objects"
echo "pkg/apis/kairship/released/$version: add to its objects one for each field that is new since $before"

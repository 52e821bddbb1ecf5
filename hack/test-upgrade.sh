#!/usr/bin/env bash
# Tests an upgrade from a release to the working tree, and the way back, under load (test/upgrade).
# `make test-upgrade FROM=v1.2.3` runs it. The fleet is that release's own, on PostgreSQL, in a folder
# of its own, and is removed again.
set -euo pipefail
cd "$(dirname "$0")/.."
from=${1:?which release: make test-upgrade FROM=<git ref>} dir=$(realpath -m "$2") ports=$3
commit=$(git rev-parse --verify --quiet "$from^{commit}") || { echo "error: $from is no commit of this clone" >&2; exit 1; }

temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
mkdir "$temp/from" "$temp/to"
git archive "$commit" | tar -x -C "$temp/from"

echo "==> the programs of the working tree, and the tests"
go build -o "$temp/to/kairship-apiserver" ./cmd/apiserver
go build -o "$temp/to/kairship-controller-manager" ./cmd/controller-manager
go test -c -o "$temp/upgrade.test" ./test/upgrade

# Releases before meta.refresh read no row while they compute all again.
refuses=1
if git grep -q refresh "$commit" -- pkg/projection/state.go; then refuses=; fi

echo "==> a fleet of $from in $dir"
(cd "$temp/from" && go build -o "$temp/local" ./deploy/local)
tree=$PWD
cd "$temp/from"
KAIRSHIP_UPGRADE_TO="$temp/to" KAIRSHIP_UPGRADE_TREE="$tree" KAIRSHIP_UPGRADE_FROM_REFUSES=$refuses \
  "$temp/local" with --dir "$dir" --port-base "$ports" --db postgres -- \
  "$temp/upgrade.test" -test.count=1 -test.timeout 20m -test.v

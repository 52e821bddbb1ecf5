#!/usr/bin/env bash
# Tests an upgrade of the chart and the images of a release to those of the working tree on a real node, and the way
# back, under load. `make test-real-upgrade FROM=v1.2.3` runs it. What the node installs first is that
# release's: its images, its chart, and the commands of its documentation.
set -euo pipefail
cd "$(dirname "$0")/.."
from=${1:?which release: make test-real-upgrade FROM=<git ref>} dir=$2
shift 2
commit=$(git rev-parse --verify --quiet "$from^{commit}") || { echo "error: $from is no commit of this clone" >&2; exit 1; }

temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
git archive "$commit" | tar -x -C "$temp"
KAIRSHIP_REAL_UPGRADE=1 bin/real with --dir "$dir" --kairship "$temp" "$@" -- \
  go test -count=1 -timeout 30m -run '^TestUpgradeFromRelease$' -v ./test/real

#!/usr/bin/env bash
# Builds a page (ui/NAME) into the folder that the apiserver embeds, when its sources are newer than what was
# built last. Without npm it says so and goes on: the program builds, and the page says how to get it.
#
# hack/ui.sh NAME TITLE [more files that the page is built from]
set -euo pipefail
cd "$(dirname "$0")/.."

name=$1
title=$2
shift 2
source=ui/$name
built=graph/server/$name/dist
stamp=$source/node_modules/.kairship-built

if [ ! -f "$source/package-lock.json" ]; then
  echo "error: $source/package-lock.json is missing: the checkout is incomplete (git checkout -- $source)"
  exit 1
fi

# The stamp holds the hash of the sources that were built. Hashes rather than times: a checkout
# changes times without changing anything else.
sources() { find "$source" "$@" -type f -not -path '*/node_modules/*' -not -path '*/test/*' -not -name schema.d.ts -print0 | LC_ALL=C sort -z; }
hash=$(sources "$@" | xargs -0 sha256sum | sha256sum | cut -d' ' -f1)
if [ -n "$(find "$built" -name 'index.html*' 2>/dev/null)" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$hash" ]; then
  exit 0
fi

if ! command -v npm >/dev/null; then
  echo "==> $title is not built: npm is missing (install Node.js 20.19 or newer; on Debian: apt-get install npm). Skipped: the page says how to get it."
  exit 0
fi

echo "==> $title, from $source"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! (cd "$source" && npm ci --no-audit --no-fund && npm run build) >"$log" 2>&1; then
  tail -30 "$log"
  echo "error: building $title failed (cd $source && npm ci && npm run build shows all of it)"
  exit 1
fi
echo "$hash" >"$stamp"

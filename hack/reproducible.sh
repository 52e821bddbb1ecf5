#!/usr/bin/env bash
# Builds the released programs twice, in two folders, under two homes and at two moments, and fails when
# the bytes differ. The second build shares the compiler's cache with the first, which with -trimpath does
# not depend on the folder; with KAIRSHIP_LONG=1 it begins from nothing, which takes minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cache=$(go env GOCACHE) modules=$(go env GOMODCACHE)

# What is tracked, as it is now, and the page that is built and embedded: once, so that an edit
# meanwhile is no difference.
{ git ls-files -z; find graph/server/graphiql/dist -type f -print0 2>/dev/null || true; } |
  LC_ALL=C sort -zu | { xargs -0 -r ls -d 2>/dev/null || true; } | tar -cf "$work/source.tar" -T -

build() { # folder home cache
  local folder=$work/$1
  mkdir -p "$folder/source" "$work/$2"
  tar -xmf "$work/source.tar" -C "$folder/source"
  for program in apiserver controller-manager; do
    (
      cd "$folder/source"
      HOME=$work/$2 GOCACHE=$3 GOMODCACHE=$modules TMPDIR=$work hack/static.sh "$program" v0.0.0-reproducible "$folder/$program"
    )
  done
}

second=$cache
if [ -n "${KAIRSHIP_LONG:-}" ]; then second=$work/cache; fi
build one first "$cache"
build another/place second "$second"

failed=0
for program in apiserver controller-manager; do
  a=$(sha256sum <"$work/one/$program") b=$(sha256sum <"$work/another/place/$program")
  if [ "$a" = "$b" ]; then
    echo "kairship-$program: the same bytes twice, sha256 ${a%% *}"
  else
    echo "error: kairship-$program differs between two builds: ${a%% *} and ${b%% *}; look for what depends on the place or the moment (hack/static.sh)"
    failed=1
  fi
done
exit $failed

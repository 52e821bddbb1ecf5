#!/usr/bin/env bash
# Makes what a release publishes of kubectl's plugin, in bin/plugin: an archive for each platform of the manifest for krew,
# and the manifest with the version and the sums of these archives. The same commit gives the same bytes anywhere.
#   hack/plugin.sh v1.2.3
set -euo pipefail
version=${1:?the version to release, for example v1.2.3}
cd "$(dirname "$0")/.."

out=bin/plugin
rm -rf "$out"
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp LICENSE "$work"
manifest=$(sed -e "s/v0\.0\.0/$version/g" deploy/krew/kairship.yaml)
platforms=$(sed -nE 's/.*os: ([a-z]+), arch: ([a-z0-9]+).*/\1-\2/p' deploy/krew/kairship.yaml)

for platform in $platforms; do
  archive=kubectl-kairship-$platform.tar.gz
  GOOS=${platform%-*} GOARCH=${platform#*-} hack/static.sh kubectl-kairship "$version" "$work/kubectl-kairship"
  tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=go-w -C "$work" -cf - LICENSE kubectl-kairship | gzip -n >"$out/$archive"
  sum=$(sha256sum "$out/$archive" | cut -d' ' -f1)
  # The sum stands in the line after the archive's address.
  manifest=$(sed -E "/$archive/{n;s/sha256: .*/sha256: \"$sum\"/}" <<<"$manifest")
  echo "$archive: sha256 $sum"
done

if grep -q '0\{64\}' <<<"$manifest"; then
  echo "error: deploy/krew/kairship.yaml has a platform that was not built; this script reads 'os: …, arch: …' in one line"
  exit 1
fi
echo "$manifest" >"$out/kairship.yaml"
echo "$out/kairship.yaml: the manifest of $version"

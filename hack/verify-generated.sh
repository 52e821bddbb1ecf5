#!/usr/bin/env bash
# Generates everything anew and fails when that changes a file. Compared with the working tree rather
# than with the last commit, so that it says the same before and after a commit.
set -euo pipefail
cd "$(dirname "$0")/.."

# The files that generators write, by content; a listed file that was deleted counts as a change.
snapshot() {
  git ls-files -z --cached --others --exclude-standard api graph pkg/apis cmd/*/testdata docs/configuration.md docs/licenses.md docs/role-reference.md docs/schema.graphql deploy/helm/kairship/crds deploy/helm/kairship/files |
    LC_ALL=C sort -zu |
    while IFS= read -rd '' file; do
      if [[ -e $file ]]; then sha256sum "$file"; else echo "deleted  $file"; fi
    done
}

log=$(mktemp) before=$(mktemp) after=$(mktemp)
trap 'rm -f "$log" "$before" "$after"' EXIT
snapshot >"$before"
if ! make generate >"$log" 2>&1; then
  tail -40 "$log"
  echo "error: generating failed"
  exit 1
fi
snapshot >"$after"
if ! diff "$before" "$after" >/dev/null; then
  echo "error: these files were not what the generators make of their sources; they are now, so look at them and commit them:"
  diff "$before" "$after" | awk '/^[<>]/ {print "  " $3}' | sort -u
  exit 1
fi

#!/usr/bin/env bash
# The suites that need a fleet: queries and answers (test/), the audit of GraphQL over HTTP (test/audit),
# the REST API against its document (test/rest),
# a supergraph by two routers (test/federation), the GraphiQL page and the console in a real browser, the official
# clients of subscriptions (test/live/clients), claims held against the clusters (test/truth), and faults
# (test/faults). The last two come last and alone, because they break the fleet on purpose.
# KAIRSHIP_TRUTH=0 leaves test/truth out, KAIRSHIP_TRUTH=5m has it last so long; `make truth` runs it alone.
# KAIRSHIP_FAULTS=0 leaves the faults out, KAIRSHIP_FAULTS=only everything else. A suite that cannot run
# because npm or Chromium is not installed fails the tests.
# KAIRSHIP_FLEET names the fleet's folder; `make test-fleet` starts one and runs this. Arguments go to
# `go test`.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${KAIRSHIP_FLEET:?no fleet: run this with \`make test-fleet\`}"

summary=()
failures=()
failed=0

part() { # name command...
  local name=$1 begun=$SECONDS result=passed output
  output=$(mktemp)
  shift
  echo "==> $name"
  if ! "$@" 2>&1 | tee "$output"; then
    result=FAILED
    failed=1
    failures+=("--- the end of: $name"$'\n'"$(grep -vE '^(ok|\?) ' "$output" | tail -n 60 | cut -c 1-500 || true)")
  fi
  rm "$output"
  summary+=("$(printf '%-8s %-32s %4ds' "$result" "$name" $((SECONDS - begun)))")
}

skip() { # name reason: a setting leaves it out
  summary+=("$(printf 'skipped  %-32s %s' "$1" "$2")")
}

missing() { # name reason: it belongs to the tests and cannot run here
  summary+=("$(printf 'MISSING  %-32s %s' "$1" "$2")")
  failed=1
}

browser() {
  for candidate in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
    if [ -n "$candidate" ] && command -v "$candidate"; then return 0; fi
  done
  return 1
}

install() { # folder: what it says about old versions of Node.js would hide failures
  npm --prefix "$1" ci --no-audit --no-fund --loglevel=error
}

in_node() { # folder
  CHROMIUM=$(browser) \
    KAIRSHIP_URL=$(node -p 'JSON.parse(fs.readFileSync(process.argv[1])).kairshipURL' "$KAIRSHIP_FLEET/fleet.json") \
    KAIRSHIP_TOKEN_FILE=$KAIRSHIP_FLEET/tokens/admin \
    npm --prefix "$1" test
}

graphiql() {
  in_node ui/graphiql
}

console_page() {
  in_node ui/console
}

clients() {
  install test/live/clients && in_node test/live/clients
}

audit() {
  install test/audit && in_node test/audit
}

rest() {
  install test/rest && npm --prefix test/rest test
}

inspector() {
  install test/inspector && npm --prefix test/inspector test
}

federation() {
  install test/federation && in_node test/federation
}

faults=${KAIRSHIP_FAULTS:-1}

if [ "$faults" = only ]; then
  skip "queries and answers" "KAIRSHIP_FAULTS=only"
else
  # One after the other: they wait for each other anyway, and compiling the next one would disturb
  # what this one measures.
  mapfile -t suites < <(go list ./test/... | grep -vE '/test/(faults|truth|privilege|real)$')
  part "queries and answers" go test -count=1 -p 1 -timeout 60m "$@" "${suites[@]}"
fi

over_http="audit of GraphQL over HTTP"
contract="REST by its OpenAPI document"
supergraph="federation, by two routers"
page="GraphiQL in a browser"
console="the console in a browser"
official="official clients of subscriptions"
if [ "$faults" = only ]; then
  skip "$over_http" "KAIRSHIP_FAULTS=only"
  skip "$contract" "KAIRSHIP_FAULTS=only"
  skip "$supergraph" "KAIRSHIP_FAULTS=only"
  skip "$page" "KAIRSHIP_FAULTS=only"
  skip "$console" "KAIRSHIP_FAULTS=only"
  skip "$official" "KAIRSHIP_FAULTS=only"
elif ! command -v npm >/dev/null; then
  missing "$over_http" "npm is not installed"
  missing "$contract" "npm is not installed"
  missing "$supergraph" "npm is not installed"
  missing "$page" "npm is not installed"
  missing "$console" "npm is not installed"
  missing "$official" "npm is not installed"
else
  part "$over_http" audit
  part "$contract" rest
  if [ -n "${KAIRSHIP_LONG:-}" ]; then part "the inspector of MCP" inspector; fi
  part "$supergraph" federation
  if ! browser >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing chromium with apt-get, for the tests in a browser"
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends chromium; } >/dev/null ||
      echo "chromium could not be installed"
  fi
  if ! browser >/dev/null; then
    missing "$page" "no Chromium (on Debian: apt-get install chromium)"
  elif [ ! -d ui/graphiql/node_modules ]; then
    missing "$page" "it is not built (make ui)"
  else
    part "$page" graphiql
  fi
  if ! browser >/dev/null; then
    missing "$console" "no Chromium (on Debian: apt-get install chromium)"
  elif [ ! -d ui/console/node_modules ]; then
    missing "$console" "it is not built (make ui)"
  else
    part "$console" console_page
  fi
  if browser >/dev/null; then
    part "$official" clients
  else
    missing "$official" "no Chromium (on Debian: apt-get install chromium)"
  fi
fi

if [ "$faults" = 0 ]; then
  skip "claims under faults" "KAIRSHIP_FAULTS=0"
  skip "faults" "KAIRSHIP_FAULTS=0"
else
  part "claims under faults" go test -count=1 -timeout 30m "$@" ./test/truth
  part "faults" go test -count=1 -timeout 30m "$@" ./test/faults
fi

# Last, because it reads what all others had Kairship ask of the global cluster.
complete=
if [ "$faults" = 1 ]; then complete=1; fi
part "least privilege" env KAIRSHIP_COMPLETE=$complete go test -count=1 "$@" ./test/privilege

for failure in "${failures[@]}"; do
  printf '%s\n' "$failure"
done
echo "==> summary"
printf '  %s\n' "${summary[@]}"
exit $failed

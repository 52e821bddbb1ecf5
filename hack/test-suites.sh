#!/usr/bin/env bash
# The suites that need a fleet, one after the other: first those that ask, then those that change much of it. Two
# fleets side by side have nothing left of a slow machine's two cores, and what a test waits for is late then.
#
# Claims held against the clusters (test/truth) and faults (test/faults) come last, because they break the fleet on
# purpose. KAIRSHIP_TRUTH=0 leaves test/truth out, KAIRSHIP_TRUTH=5m has it last so long; `make truth` runs it alone.
# KAIRSHIP_FAULTS=0 leaves both out, KAIRSHIP_FAULTS=only everything else. A suite that cannot run because npm or
# Chromium is not installed fails the tests.
#
# KAIRSHIP_FLEET names the fleet's folder; `make test-fleet` starts it and runs this. Arguments go to `go test`.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${KAIRSHIP_FLEET:?no fleet: run this with \`make test-fleet\`}"

# A line for each part, and the end of what each that failed said.
summary= failures=
output=$(mktemp)
trap 'rm "$output"' EXIT

say() { # result name detail: a line of the summary
  local line
  printf -v line '  %-8s %-32s %s\n' "$@"
  summary+=$line
}

part() { # name command...
  local name=$1 begun=$SECONDS result=passed
  shift
  echo "==> $name"
  if ! "$@" 2>&1 | tee "$output"; then
    result=FAILED
    failures+="--- the end of: $name"$'\n'$(grep -vE '^(ok|\?) ' "$output" | tail -n 60 | cut -c 1-500 || true)$'\n'
  fi
  say "$result" "$name" "$(printf '%4ds' $((SECONDS - begun)))"
}

missing() { # name reason: it belongs to the tests and cannot run here
  say MISSING "$1" "$2"
  failures+="--- missing: $1: $2"$'\n'
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

# The linter vets; doing it again for each suite takes longer than some of them.
tests() { go test -count=1 -vet=off "$@"; }

faults=${KAIRSHIP_FAULTS:-1}
changing='/test/(balancer|bindings|controllers|docs|escalation|scale|webhook|writes)$'
alone='/test/(faults|truth|privilege|real)$'

suites() { # name arguments of grep: those of the packages in test/
  local name=$1
  shift
  mapfile -t packages < <(go list ./test/... | grep -vE "$alone" | grep "$@")
  # One after the other: compiling the next one would disturb what this one measures.
  part "$name" tests -p 1 -timeout 60m "${flags[@]}" "${packages[@]}"
}

in_browser() { # name folder that `make ui` fills, command...
  local name=$1 folder=$2
  shift 2
  if ! browser >/dev/null; then
    missing "$name" "no Chromium (on Debian: apt-get install chromium)"
  elif [ ! -d "$folder/node_modules" ]; then
    missing "$name" "it is not built (make ui)"
  else
    part "$name" "$@"
  fi
}

with_node() {
  if ! command -v npm >/dev/null; then
    missing "all that needs Node.js" "npm is not installed"
    return
  fi
  part "audit of GraphQL over HTTP" audit
  part "REST by its OpenAPI document" rest
  if [ -n "${KAIRSHIP_LONG:-}" ]; then part "the inspector of MCP" inspector; fi
  part "federation, by two routers" federation
  if ! browser >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing chromium with apt-get, for the tests in a browser"
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends chromium; } >/dev/null ||
      echo "chromium could not be installed"
  fi
  in_browser "GraphiQL in a browser" ui/graphiql in_node ui/graphiql
  in_browser "the console in a browser" ui/console in_node ui/console
  in_browser "official clients of subscriptions" ui/console clients
}

flags=("$@")
if [ "$faults" = only ]; then
  say skipped "everything else" "KAIRSHIP_FAULTS=only"
else
  suites "queries and answers" -vE "$changing"
  with_node
  suites "changes" -E "$changing"
fi
if [ "$faults" = 0 ]; then
  say skipped "claims under faults" "KAIRSHIP_FAULTS=0"
  say skipped "faults" "KAIRSHIP_FAULTS=0"
else
  part "claims under faults" tests -timeout 30m "${flags[@]}" ./test/truth
  part "faults" tests -timeout 30m "${flags[@]}" ./test/faults
fi

# Last, because it reads what all others had Kairship ask of the global cluster.
complete=
if [ "$faults" = 1 ]; then complete=1; fi
KAIRSHIP_COMPLETE=$complete part "least privilege" tests "${flags[@]}" ./test/privilege

printf '%s==> summary\n%s' "$failures" "$summary"
test -z "$failures"

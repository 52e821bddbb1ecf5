#!/usr/bin/env bash
# Installs the packages of the fleet's OpenID Connect provider (deploy/local/identityprovider), when they are not
# those of its lock file. Without npm the fleet has no provider, and its people have tokens alone.
set -euo pipefail
cd "$(dirname "$0")/../deploy/local/identityprovider"

stamp=node_modules/.kairship-installed
hash=$(sha256sum package.json package-lock.json | sha256sum | cut -d' ' -f1)
if [ "$(cat "$stamp" 2>/dev/null)" = "$hash" ]; then
  exit 0
fi
if ! command -v npm >/dev/null; then
  echo "==> no OpenID Connect provider: npm is missing (install Node.js 20.19 or newer). Skipped: people sign in with tokens alone."
  exit 0
fi
echo "==> OpenID Connect provider of the fleet, from deploy/local/identityprovider"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! npm ci --no-audit --no-fund >"$log" 2>&1; then
  tail -30 "$log"
  echo "error: installing the OpenID Connect provider failed (cd deploy/local/identityprovider && npm ci shows all of it)"
  exit 1
fi
echo "$hash" >"$stamp"

#!/usr/bin/env bash
# Runs go generate and fails when it changes, adds or removes a file: what is checked
# in is then not what the generators make. Works with uncommitted changes and without git.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

list() { find . -name .git -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 cksum; }

before="$(list)"
go generate ./...
changed="$(diff <(echo "$before") <(list) | sed -nE 's/^[<>] [0-9]+ [0-9]+ //p' | sort -u || true)"
if [[ -n $changed ]]; then
  echo "generated files were not up to date (go generate has changed them now):" >&2
  echo "$changed" >&2
  exit 1
fi

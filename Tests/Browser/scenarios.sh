#!/usr/bin/env bash
# Checks the HTML report of scenarios in a browser: contrast, narrow screens, keyboard, and no network access.
#
#   Tests/Browser/scenarios.sh PROGRAM-FOLDER [SCREENSHOT-FOLDER]
#
# The report is made from a few scenarios, one of which fails on purpose, in a temporary folder.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
programs=${1:?usage: scenarios.sh PROGRAM-FOLDER [SCREENSHOT-FOLDER]}
work=$(mktemp -d "${TMPDIR:-/tmp}/remote-pin-scenarios.XXXXXX")
trap 'rm -rf "$work"' EXIT
pictures=${2:-$work/pictures}
mkdir -p "$pictures"
# shellcheck source=python.sh
. "$here/python.sh"

cat >"$work/fails.yaml" <<'EOF'
case: fails
title: A scenario that fails on purpose
steps:
  - set up: {pin: "024791", pid: true}
  - kill app
  - launch
  - enter: "111222"
  - expect: {screen: PF2.8/2.1, title: "Wrong PIN, try once more", values: {attemptsLeft: 2}}
EOF
scenarios=$here/../Scenarios
"$programs/wallet" run --report html "$work/report" \
    "$scenarios/LTC59.yaml" "$scenarios/LTC73.yaml" "$work/fails.yaml" &&
    { echo "the scenario that must fail passed" >&2; exit 1; }
"$python" "$here/scenarios.py" "$work/report" "$pictures"
echo "the report of scenarios passed; screenshots: $([ -n "${2:-}" ] && echo "$pictures" || echo "not kept")"

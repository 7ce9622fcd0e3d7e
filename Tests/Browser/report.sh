#!/usr/bin/env bash
# Checks the HTML report of a load run in a browser: plots, contrast, narrow screens, and no network access.
#
#   Tests/Browser/report.sh PROGRAM-FOLDER [SCREENSHOT-FOLDER]
#
# The page is made from Tests/LoadReportTests/Goldens/sample.json in a temporary folder.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
programs=${1:?usage: report.sh PROGRAM-FOLDER [SCREENSHOT-FOLDER]}
work=$(mktemp -d "${TMPDIR:-/tmp}/remote-pin-report.XXXXXX")
trap 'rm -rf "$work"' EXIT
pictures=${2:-$work/pictures}
mkdir -p "$pictures"
# shellcheck source=python.sh
. "$here/python.sh"

"$programs/pin-load" report "$here/../LoadReportTests/Goldens/sample.json" --out "$work/sample.html"
"$python" "$here/report.py" "$work/sample.html" "$pictures"
echo "the HTML report passed; screenshots: $([ -n "${2:-}" ] && echo "$pictures" || echo "not kept")"

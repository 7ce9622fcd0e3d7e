#!/usr/bin/env bash
# Looks at the page of a load run in a real browser: plots, contrast, narrow screens, and that it loads nothing.
#
#   Tests/Browser/report.sh FOLDER-OF-THE-PROGRAMS [FOLDER-FOR-THE-PICTURES]
#
# The page is made from the sample results of Tests/LoadReportTests/Goldens, in a temporary folder.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
programs=${1:?usage: report.sh FOLDER-OF-THE-PROGRAMS [FOLDER-FOR-THE-PICTURES]}
work=$(mktemp -d "${TMPDIR:-/tmp}/remote-pin-report.XXXXXX")
trap 'rm -rf "$work"' EXIT
pictures=${2:-$work/pictures}
mkdir -p "$pictures"
# shellcheck source=python.sh
. "$here/python.sh"

"$programs/pin-load" report "$here/../LoadReportTests/Goldens/sample.json" --out "$work/sample.html"
"$python" "$here/report.py" "$work/sample.html" "$pictures"
echo "the page of a run is as it should be; pictures: $([ -n "${2:-}" ] && echo "$pictures" || echo "not kept")"

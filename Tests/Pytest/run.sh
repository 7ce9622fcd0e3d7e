#!/usr/bin/env bash
# Installs the pytest plugin with pip from its folder, and runs tests that use it.
#
#   Tests/Pytest/run.sh PROGRAM-FOLDER [PYTEST-ARGUMENTS]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
programs=$(cd "${1:?usage: run.sh PROGRAM-FOLDER [PYTEST-ARGUMENTS]}" && pwd)
shift
work=$(mktemp -d "${TMPDIR:-/tmp}/remote-pin-pytest.XXXXXX")
trap 'rm -rf "$work"' EXIT
# A copy, since the build leaves files in the folder.
cp -r "$here/../../Sources/Client/pytest-remote-pin" "$work/plugin"
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "$work/plugin"
"$work/venv/bin/pytest" "$here" -p no:cacheprovider --remote-pin-programs "$programs" "$@"

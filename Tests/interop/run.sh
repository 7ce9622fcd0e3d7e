#!/usr/bin/env bash
# Runs the Python client against the real server in a new lab.
#
#   Tests/interop/run.sh FOLDER-OF-THE-PROGRAMS
#
# Uses a temporary folder and a free loopback port. Only the Python packages remain, in .venv next to this file.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
server=${1:?usage: run.sh FOLDER-OF-THE-PROGRAMS}/remote-pin-server
work=$(mktemp -d "${TMPDIR:-/tmp}/remote-pin-interop.XXXXXX")
server_pid=

finish() {
    status=$?
    [ -z "$server_pid" ] || kill -KILL "$server_pid" 2>/dev/null || true
    if [ $status -ne 0 ] && [ -s "$work/server.out" ]; then
        echo "The last lines of the server:" >&2
        tail -n 15 "$work/server.out" >&2
    fi
    rm -rf "$work"
}
trap finish EXIT

python="$here/.venv/bin/python"
if ! "$python" -c 'import google.protobuf, OpenSSL, cryptography' 2>/dev/null; then
    python3 -m venv "$here/.venv"
    "$python" -m pip install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
fi

echo "The vectors match docs/protocol.md"
"$python" "$here/make_vectors.py" | diff - "$here/../../docs/protocol-vectors.json" >&2

"$server" init --lab "$work/lab" >"$work/server.out" 2>&1
"$server" lab up "$work/lab" >>"$work/server.out" 2>&1 &
server_pid=$!
for _ in $(seq 1 200); do
    grep -q ready "$work/server.out" && break
    kill -0 "$server_pid" 2>/dev/null || { echo "the server did not start" >&2; exit 1; }
    sleep 0.05
done

"$python" "$here/client.py" "$work/lab"

kill -TERM "$server_pid"
wait "$server_pid"
server_pid=

#!/usr/bin/env bash
# Tests the deletion portal in headless Chromium, with a server, the portal, and nginx configured as in docs/portal.md.
#
#   Tests/Browser/portal.sh PROGRAM-FOLDER [SCREENSHOT-FOLDER]
#
# It uses a temporary folder and free loopback ports. The Python packages stay in .venv next to this file.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
programs=${1:?usage: portal.sh PROGRAM-FOLDER [SCREENSHOT-FOLDER]}
work=$(mktemp -d "${TMPDIR:-/tmp}/remote-pin-portal.XXXXXX")
pictures=${2:-$work/pictures}
server_pid= portal_pid= nginx_pid=

finish() {
    status=$?
    for pid in $nginx_pid $portal_pid $server_pid; do kill -TERM "$pid" 2>/dev/null || true; done
    if [ $status -ne 0 ]; then tail -n 15 "$work"/*.out "$work"/nginx/*.log >&2 2>/dev/null || true; fi
    wait
    rm -rf "$work"
}
trap finish EXIT

# await FILE PID: waits until a program reports that it is ready.
await() {
    for _ in $(seq 1 200); do
        grep -q ready "$1" && return
        kill -0 "$2" 2>/dev/null || break
        sleep 0.1
    done
    echo "program did not start; see $1" >&2
    exit 1
}

# shellcheck source=python.sh
. "$here/python.sh"

"$programs/remote-pin-server" init --lab "$work/lab" >"$work/init.out"
start_server() {
    "$programs/remote-pin-server" lab up "$work/lab" >"$work/server.out" 2>&1 &
    server_pid=$!
    await "$work/server.out" "$server_pid"
}
start_server

# Started through the server's program, as operators do.
"$programs/remote-pin-server" portal "$work/lab" --portal.help-link https://help.example/ >"$work/portal.out" 2>&1 &
portal_pid=$!
await "$work/portal.out" "$portal_pid"
portal=$(sed -n 's#^ready on http://##p' "$work/portal.out")

# The nginx configuration from docs/portal.md, with test names and ports.
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
mkdir "$work/nginx"
{
    echo "daemon off; pid $work/nginx/pid; error_log $work/nginx/error.log info; events {}"
    echo "http { access_log $work/nginx/access.log;"
    for kind in client_body proxy fastcgi uwsgi scgi; do echo "${kind}_temp_path $work/nginx/$kind;"; done
    sed -n '/^```nginx$/,/^```$/p' "$here/../../docs/portal.md" | sed '/^```/d' | sed \
        -e "s#listen 443 ssl#listen 127.0.0.1:$port ssl#" -e '/listen \[::\]/d' \
        -e 's#delete.wallet.example;#localhost;#' -e "s#/etc/ssl/delete.wallet.example.pem#$work/lab/server/tls.pem#" \
        -e "s#/etc/ssl/private/delete.wallet.example.key#$work/lab/server/tls.key#" -e "s#127.0.0.1:7480#$portal#"
    echo "}"
} >"$work/nginx/nginx.conf"
nginx -c "$work/nginx/nginx.conf" -e "$work/nginx/error.log" &
nginx_pid=$!
for _ in $(seq 1 100); do curl -sk -o /dev/null "https://localhost:$port/" && break; sleep 0.1; done

# Registers a wallet with a deletion code, deletes it, and checks what the wallet then shows.
printf '135790\n' >"$work/pin"
phone=("--home" "$work/phone" "--lab" "$work/lab" "--pin-file" "$work/pin" "--json")
"$programs/wallet" setup "${phone[@]}" >"$work/setup.out"
code=$(grep -oE '[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){3}-[0-9A-HJKMNP-TV-Z]{2}' "$work/setup.out" | head -1)
"$programs/wallet" unlock "${phone[@]}" --code-written-down >"$work/unlock.out"

mkdir -p "$pictures"
browse() { "$python" "$here/portal.py" "https://localhost:$port" "$pictures" "$@"; }
browse pages "$code"
if "$programs/wallet" unlock "${phone[@]}" >"$work/unlock.out"; then echo "the wallet still opens" >&2; exit 1; fi
grep -q "UC1.2/4.1" "$work/unlock.out" || { echo "the app does not show that its wallet was deleted" >&2; exit 1; }
kill -TERM "$server_pid" && wait "$server_pid"
server_pid=
browse away "$code"
start_server
browse limited

kill -TERM "$portal_pid" && wait "$portal_pid" || { echo "the portal did not stop cleanly" >&2; exit 1; }
portal_pid=
bare=${code//-/}
if grep -riqE "$code|$bare" "$work"/*.out "$work/nginx" "$work/lab/server/server.log" --exclude=setup.out; then
    echo "the deletion code was found in a log or a file" >&2
    exit 1
fi
echo "the portal passed in the browser; screenshots: $([ -n "${2:-}" ] && echo "$pictures" || echo "not kept")"

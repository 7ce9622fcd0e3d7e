#!/bin/sh
# A fault hook of `pin-load prove` for the server of a lab on this machine.
#
#     export LAB=/tmp/lab                # and SERVER=PROGRAM if remote-pin-server is not in PATH
#     deploy/prove/lab-faults.sh start
#     pin-load prove --lab $LAB --wallets wallets --fault-hook deploy/prove/lab-faults.sh
#     deploy/prove/lab-faults.sh stop
#
#     kill      SIGKILL; the server starts again at once
#     away      SIGKILL; the server starts again when the fault is healed
#     freeze    SIGSTOP until the fault is healed
set -eu
lab=${LAB:?name the lab: export LAB=DIR}
server=${SERVER:-remote-pin-server}
log=$lab/prove.log

pid() { cat "$lab/prove.pid" 2>/dev/null || echo 0; }

# A killed process whose parent has not collected its status is not running. It holds its files until its last thread
# has ended.
running() {
    set -- "/proc/$(pid)/task/"*
    [ $# -gt 1 ] || awk '$1 == "State:" && $2 != "Z" { found = 1 } END { exit !found }' "$1/status" 2>/dev/null
}

start() {
    running && return
    : > "$log"
    setsid "$server" serve "$lab" >> "$log" 2>&1 < /dev/null &
    echo $! > "$lab/prove.pid"
    until grep -q "ready on" "$log"; do
        running || { echo "the server did not start: $(tail -n 1 "$log")" >&2; exit 1; }
        sleep 0.05
    done
}

end() {
    running || return 0
    kill "-$1" "$(pid)"
    while running; do sleep 0.02; done
}

case ${1:-} in
list) echo kill away freeze ;;
kill) end KILL && start ;;
away) end KILL ;;
freeze) kill -STOP "$(pid)" ;;
heal) if running; then kill -CONT "$(pid)"; else start; fi ;;
start) start ;;
stop) kill -CONT "$(pid)" 2>/dev/null || true; end TERM ;;
*) echo "usage: $0 list | kill | away | freeze | heal | start | stop" >&2; exit 2 ;;
esac

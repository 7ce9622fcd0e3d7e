#!/usr/bin/env bash
# Measures the effect of a flood of hostile connections on open sessions: p99 of PIN checks without and with it.
#
#   Tests/Load/flood.sh BIN        BIN holds remote-pin-server, remote-pin-lab and pin-load, as .build/release
#
# The server runs on core 0, the load and the flood on core 1. The flood has the lowest priority, so that it does not
# disturb the measurement; "opened" in its last line shows the rate that it reached. Exits with 1 if p99 grows by more
# than the factor LIMIT (3). KINDS, RATE, HELD, DURATION, CHECKS (per second), CONNECTIONS, WALLETS and OUT (a folder
# for the results) change the measurement.
set -euo pipefail
bin=$(cd "${1:?usage: Tests/Load/flood.sh BIN}" && pwd)
kinds=${KINDS:-half-open,slow,garbage}
rate=${RATE:-1000}
held=${HELD:-5000}
duration=${DURATION:-20s}
checks=${CHECKS:-500}
connections=${CONNECTIONS:-32}
wallets=${WALLETS:-200}
limit=${LIMIT:-3}
work=$(mktemp -d)
out=${OUT:-$work/out}
mkdir -p "$out"

server=
flood=
end() {
    [ -n "$flood" ] && kill "$flood" 2>/dev/null && wait "$flood" 2>/dev/null
    [ -n "$server" ] && kill "$server" 2>/dev/null && wait "$server" 2>/dev/null
    rm -rf "$work"
}
trap end EXIT

ulimit -n "$(ulimit -Hn)"
taskset -c 0 "$bin/remote-pin-server" lab up "$work/lab" >"$work/server.out" 2>&1 &
server=$!
for _ in $(seq 100); do
    grep -q '^ready' "$work/server.out" && break
    kill -0 "$server" 2>/dev/null || { cat "$work/server.out" >&2; exit 1; }
    sleep 0.2
done

load() { taskset -c 1 "$bin/pin-load" "$@"; }
run() { # NAME
    load run --lab "$work/lab" --wallets "$work/wallets" --connections "$connections" --rate "$checks" \
        --duration "$duration" --warmup 2s --mix right=1 --checks-per-wallet 1M --out "$out/$1.json" 2>"$out/$1.log"
}
load provision --lab "$work/lab" --wallets "$wallets" --out "$work/wallets" 2>/dev/null

echo "== quiet =="
run quiet
echo "== flooded: $kinds, $rate/s =="
nice -n 19 taskset -c 1 "$bin/pin-load" flood --lab "$work/lab" --kinds "$kinds" --rate "$rate" --held "$held" \
    --duration 1h >"$out/flood.log" 2>&1 &
flood=$!
run flooded
kill -INT "$flood"
wait "$flood" || true
flood=
tail -1 "$out/flood.log"

echo "== compared =="
load compare "$out/quiet.json" "$out/flooded.json" || true
p99() {
    python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))["totals"]["operations"]["check"]["latencyMicros"]["p99"])' "$1"
}
python3 - "$(p99 "$out/quiet.json")" "$(p99 "$out/flooded.json")" "$limit" <<'END'
import sys
quiet, flooded, limit = map(float, sys.argv[1:])
growth = f"{flooded/quiet:.2f} times (limit {limit:g})"
print(f"p99 of warm checks: quiet {quiet/1000:.2f} ms, flooded {flooded/1000:.2f} ms: {growth}")
sys.exit(flooded > limit * quiet)
END

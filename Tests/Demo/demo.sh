#!/usr/bin/env bash
# Demonstrates the whole system step by step, and fails at the first unexpected result.
#
#   Tests/Demo/demo.sh FOLDER-OF-THE-PROGRAMS
#
# Uses a temporary folder and a free loopback port, and removes the folder at the end.
set -euo pipefail

programs=${1:?usage: demo.sh FOLDER-OF-THE-PROGRAMS}
server="$programs/remote-pin-server"
wallet="$programs/wallet"
work=$(mktemp -d "${TMPDIR:-/tmp}/remote-pin-demo.XXXXXX")
lab="$work/lab"
server_pid=

bold='' dim='' green='' red='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
    bold=$'\e[1m' dim=$'\e[2m' green=$'\e[32m' red=$'\e[31m' plain=$'\e[0m'
fi

finish() {
    status=$?
    [ -z "$server_pid" ] || kill -KILL "$server_pid" 2>/dev/null || true
    if [ $status -ne 0 ] && [ -s "$work/server.out" ]; then
        echo "${red}The last lines of the server:${plain}" >&2
        tail -n 15 "$work/server.out" >&2
    fi
    rm -rf "$work"
}
trap finish EXIT

part() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }
say() { printf '  %s\n' "$1"; }
fail() {
    printf '%s✘ %s%s\n' "$red" "$1" "$plain" >&2
    exit 1
}

# Runs a wallet command and compares its exit code and last screen with the expected ones.
#   must CODE TEXT WHO COMMAND…
must() {
    local code=$1 text=$2 who=$3 seen=0
    shift 3
    "$wallet" "$@" --home "$work/$who" --lab "$lab" >"$work/out" 2>&1 || seen=$?
    if [ "$seen" != "$code" ] || ! grep -qF -- "$text" "$work/out"; then
        sed 's/^/    /' "$work/out" >&2
        fail "wallet $* ($who): exit $seen and the screen above; expected exit $code and \"$text\""
    fi
    printf '  %s✔%s %-8s %-12s %s→ %s%s\n' "$green" "$plain" "$who" "$1" "$dim" "$text" "$plain"
}

pin() {
    printf '%s\n' "$@" >"$work/pin"
    chmod 600 "$work/pin"
}
unlock() {
    local digits=$1 code=$2 text=$3 who=$4
    shift 4
    pin "$digits"
    must "$code" "$text" "$who" unlock --pin-file "$work/pin" "$@"
}
# Prints the server's reason for the last rejection.
logged() {
    grep -qF "$1" "$lab/server/server.log" || fail "the server's log does not contain $1"
    printf '             %sserver: attestation-rejected, %s%s\n' "$dim" "$1" "$plain"
}
pass() {
    "$server" admin clock advance "$1" --lab "$lab" >/dev/null && say "${dim}(the lab's clock advances by $1)${plain}"
}

start_server() {
    "$server" lab up "$lab" >>"$work/server.out" 2>&1 &
    server_pid=$!
    # Waits until the server logs that it is ready.
    local lines
    for _ in $(seq 1 200); do
        lines=$(grep -c 'ready' "$work/server.out" || true)
        [ "$lines" -gt "${ready_before:-0}" ] && { ready_before=$lines; return; }
        kill -0 "$server_pid" 2>/dev/null || fail "the server did not start"
        sleep 0.05
    done
    fail "the server was not ready after ten seconds"
}

part "A lab: server, test authority and clock in one folder"
"$server" init --lab "$lab" >"$work/init.out" || fail "init --lab"
start_server
say "the server listens on $(sed -n 's/^address: *//p' "$lab/lab.yaml" | tr -d "\"'"), with its database in lab/server"

part "Two phones register"
say "Each creates a key in its (simulated) secure hardware, attested in the vendor's format. The server verifies"
say "chain, challenge, app, security level and boot state before it registers the wallet. \
The PIN never leaves the phone."
pin 024791
must 0 'Write down deletion code' android setup --platform android --pin-file "$work/pin"
grep -oE '([0-9A-Z]{4}-){4}[0-9A-Z]{2}' "$work/out" | head -1 | sed 's/^/             deletion code: /'
must 0 'Write down deletion code' iphone setup --platform ios --pin-file "$work/pin"
grep -oE '([0-9A-Z]{4}-){4}[0-9A-Z]{2}' "$work/out" | head -1 | sed 's/^/             deletion code: /'
say "The code is shown until the user confirms that it is written down; then the wallet opens:"
unlock 024791 0 'Write down deletion code' android
unlock 024791 0 'Obtain PID' android --code-written-down
unlock 024791 0 'Obtain PID' iphone --code-written-down

part "Three phones are rejected"
say "One reports that it is rooted; one hides it, but its hardware attests an unlocked bootloader; one runs"
say "another app. The server's log states the failed check:"
must 14 'Device insecure' rooted setup --platform android --rooted --pin-file "$work/pin"
must 14 'Device insecure' hidden setup --platform android --fault unlocked-bootloader --pin-file "$work/pin"
logged device_unlocked
must 14 'Device insecure' stranger setup --platform ios --fault other-app --pin-file "$work/pin"
logged rp_id_mismatch

part "Wrong PINs: four rounds of four"
for round in 1 2 3; do
    case $round in
        1) wait=61s block='1 more minute' ;;
        2) wait=301s block='5 more minutes' ;;
        3) wait=3601s block='60 more minutes' ;;
    esac
    say "${bold}Round $round${plain}"
    unlock 111222 10 'wrong PIN, try again.' android
    unlock 111223 10 'wrong PIN, you have 2 more attempts.' android
    unlock 111224 10 'wrong PIN, you have 1 more attempt. Then your app will be blocked temporarily.' android
    unlock 111225 11 "app is blocked for $block" android
    if [ $round = 1 ]; then
        say "During a block even the right PIN is not checked, and nothing is counted:"
        unlock 024791 11 'app is blocked for' android
    fi
    pass $wait
done
say "${bold}Round 4, the final one${plain}"
unlock 111222 10 'you have 3 more attempts. Then your app will be blocked permanently.' android
unlock 111223 10 'you have 2 more attempts. Then your app will be blocked permanently.' android
unlock 111224 10 'you have 1 more attempt. Then your app will be blocked permanently.' android
unlock 111225 12 'too many failed PIN entries' android
say "Neither time nor the right PIN unlocks it again:"
pass 48h
unlock 024791 12 'too many failed PIN entries' android

part "The server is killed between wrong PINs and remembers all of them"
unlock 333111 10 'wrong PIN, try again.' iphone
unlock 333112 10 'wrong PIN, you have 2 more attempts.' iphone
kill -KILL "$server_pid" && wait "$server_pid" 2>/dev/null || true
say "SIGKILL: without the server there is no verdict on a PIN:"
unlock 333113 16 'Server unreachable' iphone
start_server
say "After a restart the next wrong PIN is counted as the third:"
unlock 333114 10 'wrong PIN, you have 1 more attempt. Then your app will be blocked temporarily.' iphone
say "The server is killed during the fourth wrong PIN. Either that PIN or the next one is counted as the fourth, and a"
say "fifth is not possible:"
pin 333115
"$wallet" unlock --home "$work/iphone" --lab "$lab" --pin-file "$work/pin" >"$work/cut" 2>&1 &
cut=$!
kill -KILL "$server_pid" && wait "$server_pid" 2>/dev/null || true
wait "$cut" || true
start_server
unlock 333116 11 'app is blocked for' iphone
pass 61s
unlock 024791 0 'Obtain PID' iphone
say "A right PIN resets the count:"
unlock 333111 10 'wrong PIN, try again.' iphone

part "The server stops"
kill -TERM "$server_pid"
stopped=0
wait "$server_pid" || stopped=$?
server_pid=
[ $stopped = 0 ] || fail "the server exited with $stopped after SIGTERM"
say "with exit status 0"

printf '\n%s✔ All results were as expected.%s\n' "$green" "$plain"

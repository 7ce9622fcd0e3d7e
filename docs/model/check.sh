#!/bin/bash
# Exhausts counting.pml and finds a violation in each of its mutants; prints a table.
#
#   docs/model/check.sh                            the bounds in the model
#   docs/model/check.sh MESSAGES=5 FAILOVERS=2     larger ones: minutes and gigabytes
#   docs/model/check.sh --traces                   also prints each mutant's shortest trace
set -eu -o pipefail
model=$(realpath "$(dirname "$0")")/counting.pml
if [ "$(wc -l <"$model")" -ge 120 ]; then
    echo "counting.pml is the picture of the protocol, in fewer than 120 lines" >&2
    exit 1
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cp "$model" .
traces=
for argument in "$@"; do
    case $argument in
    --traces) traces=1 ;;
    *=*)
        grep -q "^#define ${argument%%=*} [0-9]" counting.pml || { echo "no bound ${argument%%=*}" >&2; exit 2; }
        sed -i "s/^#define ${argument%%=*} [0-9]*/#define ${argument%%=*} ${argument#*=}/" counting.pml ;;
    *) sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
done

# Runs one variant and prints its row: check NAME EXPECTED_ERRORS [COMPILER_FLAG...]
check() {
    local name=$1 expected=$2
    shift 2
    local define=()
    [ "$name" = safe ] || define=("-D$name")
    rm -f counting.pml.trail
    spin -a "${define[@]}" counting.pml
    gcc -O2 -w -DSAFETY -DCOLLAPSE "$@" -o pan pan.c
    local start=$EPOCHREALTIME
    ./pan -E -m100000 >out 2>&1
    local seconds
    seconds=$(echo "$EPOCHREALTIME $start" | awk '{ printf "%.1f", $1 - $2 }')
    local states depth errors
    states=$(awk '/states, stored/ { print $1 }' out)
    read -r depth errors < <(sed -nE 's/.*depth reached ([0-9]+), errors: ([0-9]+).*/\1 \2/p' out)
    local found="no violation"
    [ "$errors" = 0 ] || found=$(sed -nE 's/^pan:1: (.*) \(at depth.*/\1/p' out)
    echo "| $name | $states | $depth | $seconds s | $found |"
    if [ "$errors" != "$expected" ] || grep -qE 'max search depth too small|out of memory' out; then
        cat out >&2
        echo "$name: expected $expected errors" >&2
        exit 1
    fi
    if [ "$errors" != 0 ] && [ -n "$traces" ]; then
        spin -t "${define[@]}" counting.pml | sed -n 's/^ *MSC: /    /p'
    fi
}

echo "| variant | states | depth | time | result |"
echo "| --- | --- | --- | --- | --- |"
check safe 0
# Breadth-first, so that the trace is a shortest one.
for mutant in $(sed -nE 's/^#ifn?def ([A-Z_]+).*/\1/p' counting.pml); do
    check "$mutant" 1 -DBFS
done

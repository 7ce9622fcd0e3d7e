#!/usr/bin/env bash
# Fuzzes the inputs of the programs with coverage guidance (libFuzzer) and the address sanitizer.
#
#   Tests/Fuzz/run.sh SECONDS [TARGET…]    all targets by default, JOBS at a time (the number of processors); 0 builds
#
# A target begins with the inputs in Tests/Fuzz/Corpus, those that the program makes (`fuzz --prepare`), and the
# evidence of real devices if it is installed (in REMOTE_PIN_VECTORS or ../shared/vectors/attestation). Its corpus grows
# from run to run in .build-fuzz/work/corpus. An input that crashes, hangs for 25 s or uses 3 GiB fails the run.
set -euo pipefail
cd "$(dirname "$0")/../.."
export work=.build-fuzz/work vectors=${REMOTE_PIN_VECTORS:-../shared/vectors/attestation}
seconds=${1:-180}
shift || true

if [ "${1:-}" = --one ]; then # One target, for the run below.
    target=$2
    mkdir -p "$work/corpus/$target" "$work/prepared/$target" "$work/crashes" "$work/logs" "Tests/Fuzz/Corpus/$target"
    "$FUZZ" --prepare "$target" "$work/prepared/$target"
    Tests/Fuzz/vectors.py "$vectors" "$target" "$work/prepared/$target/seeds"
    echo "$target: $seconds s"
    words=()
    [ ! -s "$work/prepared/$target/words" ] || words=(-dict="$work/prepared/$target/words")
    TIMEFORMAT='%U %S'
    status=0
    { time "$FUZZ" "$target" "$work/corpus/$target" "Tests/Fuzz/Corpus/$target" "$work/prepared/$target/seeds" \
        -max_total_time="$seconds" -max_len=20000 -timeout=25 -rss_limit_mb=3072 -detect_leaks=0 -print_final_stats=1 \
        "${words[@]}" -artifact_prefix="$work/crashes/$target-" \
        >"$work/logs/$target" 2>&1; } 2>"$work/logs/$target.cpu" || status=$?
    echo "$status" >"$work/logs/$target.status"
    exit
fi

archive=$(swiftc -print-target-info | python3 -c 'import json, platform, sys
folder = json.load(sys.stdin)["paths"]["runtimeResourcePath"]
print(folder + "/clang/lib/linux/libclang_rt.fuzzer_no_main-" + platform.machine() + ".a")')
# In memory, because the targets write files and sync them, and no input depends on a disk. A crash leaves files there.
memory=/dev/shm
[ -d "$memory" ] || memory=/tmp
TMPDIR=$(mktemp -d "$memory/remote-pin-fuzz.XXXXXX")
trap 'rm -rf "$TMPDIR"' EXIT
echo "== build =="
options=(-c release --scratch-path .build-fuzz --sanitize=address -Xswiftc -enable-testing --product fuzz)
REMOTE_PIN_FUZZER=$archive swift build "${options[@]}"
FUZZ=$(REMOTE_PIN_FUZZER=$archive swift build "${options[@]}" --show-bin-path)/fuzz
# Swift's own report of a crash would disturb that of the sanitizer.
export TMPDIR FUZZ SWIFT_BACKTRACE=enable=no
# The sanitizer keeps each call stack that allocates. With all frames, 50,000 inputs of `portal` would use 3 GiB.
export ASAN_OPTIONS="detect_leaks=0:malloc_context_size=6:suppressions=$PWD/Tests/address-sanitizer.suppressions"

[ "$seconds" != 0 ] || exit 0
targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <("$FUZZ" --list)
jobs=${JOBS:-$(nproc)}
share=$((seconds * jobs / ${#targets[@]}))
[ "$share" -gt 0 ] || share=1
echo "== fuzzing for $seconds s: ${#targets[@]} targets, $share s each, $jobs at a time =="
printf '%s\n' "${targets[@]}" | xargs -P "$jobs" -I TARGET "$0" "$share" --one TARGET
Tests/Fuzz/table.py "$work" "$FUZZ" "${targets[@]}"

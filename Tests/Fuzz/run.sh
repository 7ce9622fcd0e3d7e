#!/usr/bin/env bash
# Runs the parsers of evidence and of a load balancer's header on mutated inputs for a given time, guided by coverage
# (libFuzzer).
#
#   Tests/Fuzz/run.sh [SECONDS]      60 seconds by default
#
# The corpus begins with the vectors (in REMOTE_PIN_VECTORS or ../shared/vectors/attestation, if installed) and
# with generated evidence (Seeds.swift), and grows from run to run in .build-fuzz/corpus. If an input crashes,
# hangs for 10 s or takes 512 MiB, the script names its file and fails.
#
# SwiftPM builds the dependencies of the sources. This script compiles the sources, because only they are
# instrumented and libFuzzer provides the main function.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-60}
work=.build-fuzz
mkdir -p "$work/corpus" "$work/seeds" "$work/crashes"

echo "== packages =="
swift build -c release --target AttestationVerifier
bin=$(swift build -c release --show-bin-path)

echo "== instrumented sources =="
flags=(-swift-version 6 -O -parse-as-library -wmo -sanitize=fuzzer -I "$work" -I "$bin/Modules" -module-cache-path "$work/modules"
    -enable-upcoming-feature MemberImportVisibility -enable-upcoming-feature InternalImportsByDefault)
for map in "$bin"/../../checkouts/swift-crypto/Sources/*/include .build/checkouts/swift-crypto/Sources/*/include; do
    [ -d "$map" ] && flags+=(-Xcc -I -Xcc "$map")
done
compile() { # MODULE FOLDER
    find "$2" -name '*.swift' -print0 | xargs -0 swiftc "${flags[@]}" -module-name "$1" \
        -emit-module -emit-module-path "$work/$1.swiftmodule" -c -o "$work/$1.o"
}
compile Evidence Sources/Shared/Evidence
compile AttestationVerifier Sources/Server/AttestationVerifier
# One file of a target that otherwise needs NIO; its declarations are internal.
swiftc "${flags[@]}" -module-name Fuzz -c Tests/Fuzz/{Fuzz,Seeds}.swift Sources/Shared/Transport/ProxyHeader.swift -o "$work/Fuzz.o"
objects=()
for module in Vocabulary SwiftASN1 Crypto CryptoExtras CryptoBoringWrapper CCryptoBoringSSL CCryptoBoringSSLShims CXKCP CXKCPShims; do
    [ -d "$bin/$module.build" ] || continue
    while IFS= read -r -d '' object; do objects+=("$object"); done < <(find "$bin/$module.build" -name '*.o' -print0)
done
swiftc -sanitize=fuzzer -o "$work/fuzz" "$work"/{Evidence,AttestationVerifier,Fuzz}.o "${objects[@]}" -lstdc++

echo "== corpus =="
python3 Tests/Fuzz/seeds.py "$work/seeds" "${REMOTE_PIN_VECTORS:-../shared/vectors/attestation}"

echo "== fuzzing for $seconds s =="
if ! REMOTE_PIN_FUZZ_SEEDS="$work/seeds" "$work/fuzz" "$work/corpus" "$work/seeds" -max_total_time="$seconds" -max_len=40000 -timeout=10 -rss_limit_mb=512 \
    -use_value_profile=1 -print_final_stats=1 -artifact_prefix="$work/crashes/" >"$work/log" 2>&1; then
    tail -n 60 "$work/log"
    echo "an input was not survived: $(ls -t "$work"/crashes/* | head -1) (first byte: the target, see Tests/Fuzz/Fuzz.swift)" >&2
    exit 1
fi
grep -E '^(INFO: seed|stat::|Done|#[0-9]+\s+(INITED|DONE))' "$work/log"
echo "no input crashed; $(ls "$work/corpus" | wc -l) inputs that reach something new are kept in $work/corpus"

#!/usr/bin/env bash
# Breaks the code on purpose, one patch at a time, and expects a test to turn red for each.
#
#   Tests/Mutants/run.sh [NAME …]     all mutants, or those whose file names contain one of the NAMEs
#   Tests/Mutants/run.sh --check      only whether each patch still applies; takes a second
#   JOBS=1 Tests/Mutants/run.sh       one tree instead of two side by side
#
# A mutant is a patch in this folder. Its first lines say what it breaks and which tests are to notice:
#   breaks: the verdict is given before the count is durable
#   noticed by: WalletStoreTests
# The value of "noticed by" is a filter of `swift test`. Works in copies (.build-mutants), never in this tree.
set -uo pipefail
cd "$(dirname "$0")/../.."
repository=$PWD
jobs=${JOBS:-2}

if [ "${1:-}" = --check ]; then
    stale=0
    for patch in Tests/Mutants/*.patch; do
        patch --dry-run -p1 --fuzz=0 --quiet <"$patch" >/dev/null 2>&1 || { echo "$patch does not apply: move it to the code's new lines"; stale=1; }
    done
    exit $stale
fi

chosen=()
shopt -s nullglob
for patch in Tests/Mutants/*.patch; do
    name=$(basename "$patch" .patch)
    wanted=$([ $# -eq 0 ] && echo yes)
    for part in "$@"; do [[ $name == *"$part"* ]] && wanted=yes; done
    [ -n "$wanted" ] && chosen+=("$name")
done
[ ${#chosen[@]} -gt 0 ] || { echo "no mutant has such a name" >&2; exit 64; }

# A copy of the committed tree and what is uncommitted, without build folders.
copy_tree() {
    mkdir -p "$1/tree" "$1/tmp"
    find "$1/tree" -mindepth 1 -maxdepth 1 ! -name .build -exec rm -rf {} +
    git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -T - -cf - 2>/dev/null | tar -xf - -C "$1/tree"
}

# try NAME COPY: one line that begins with "caught", "survived" or "unusable".
try() {
    local name=$1 copy=$2 patch="$repository/Tests/Mutants/$1.patch" log="$2/$1.log"
    local filter breaks status test
    filter=$(sed -n 's/^noticed by: //p' "$patch" | head -1)
    breaks=$(sed -n 's/^breaks: //p' "$patch" | head -1)
    if ! (cd "$copy/tree" && patch -p1 --quiet --no-backup-if-mismatch --fuzz=0) <"$patch" >"$log" 2>&1; then
        echo "unusable $name DOES NOT APPLY"
        return
    fi
    if ! (cd "$copy/tree" && swift build --build-tests) >"$log" 2>&1; then
        echo "unusable $name DOES NOT BUILD (see $log)"
    else
        # The tests' own program: `swift test` would leave a test that waits forever behind when it is ended.
        (cd "$copy/tree" && SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=6 timeout -k 5 180 .build/debug/*PackageTests.xctest \
            --testing-library swift-testing --filter "$filter") >"$log" 2>&1
        status=$?
        test=$(grep -oE 'Test "[^"]+" (failed|recorded)' "$log" | head -1 | sed -E 's/ (failed|recorded)$//')
        if ! grep -q 'Test run started' "$log"; then
            echo "unusable $name NOT TESTED (see $log)"
        elif [ $status -eq 0 ]; then
            echo "survived $name SURVIVED: $breaks"
        elif [ $status -eq 124 ] || [ $status -eq 137 ]; then
            echo "caught $name by ${test:-a test} (and one that waits in vain)"
        else
            echo "caught $name by ${test:-a crash}"
        fi
    fi
    (cd "$copy/tree" && patch -p1 -R --quiet --no-backup-if-mismatch) <"$patch" >/dev/null
}

# Each worker takes every so many-th mutant, in a tree and with a temporary folder of its own.
worker() {
    local copy="$repository/.build-mutants/$1"
    copy_tree "$copy"
    export TMPDIR="$copy/tmp"
    for ((i = $1; i < ${#chosen[@]}; i += jobs)); do try "${chosen[$i]}" "$copy"; done
}

results=.build-mutants/results
mkdir -p .build-mutants
trap 'kill $(jobs -p) 2>/dev/null' EXIT
for ((w = 0; w < jobs; w++)); do worker $w & done | tee "$results" | while read -r _ name outcome; do
    printf '%-44s %s\n' "$name" "$outcome"
done

count() { grep -c "^$1 " "$results"; }
echo
echo "$(count caught) caught, $(count survived) survived, $(count unusable) not usable"
[ "$(count caught)" -eq ${#chosen[@]} ]

#!/usr/bin/env bash
# Breaks the code on purpose, one patch at a time, and expects a test to turn red for each.
#
#   Tests/Mutants/run.sh [NAME …]     all mutants, or those whose file names contain one of the NAMEs
#
# A mutant is a patch in this folder. Its first lines say what it breaks and which tests are to notice:
#   breaks: the verdict is given before the count is durable
#   noticed by: WalletStoreTests
# The value of "noticed by" is a filter of `swift test`. Works in a copy (.build-mutants), never in this tree.
set -uo pipefail
cd "$(dirname "$0")/../.."

copy=.build-mutants
mkdir -p "$copy/tree"
# The committed tree and what is uncommitted, without build folders.
git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -T - -cf - 2>/dev/null | tar -xf - -C "$copy/tree"
git ls-files -z --deleted | (cd "$copy/tree" && xargs -0 -r rm -f)

caught=0 survived=() broken=()
shopt -s nullglob
for patch in Tests/Mutants/*.patch; do
    name=$(basename "$patch" .patch)
    if [ $# -gt 0 ]; then
        wanted=no
        for part in "$@"; do [[ $name == *"$part"* ]] && wanted=yes; done
        [ $wanted = yes ] || continue
    fi
    filter=$(sed -n 's/^noticed by: //p' "$patch" | head -1)
    printf '%-44s ' "$name"
    if ! (cd "$copy/tree" && patch -p1 --quiet --no-backup-if-mismatch --fuzz=0) <"$patch" >"$copy/log" 2>&1; then
        echo "DOES NOT APPLY"
        broken+=("$name")
        continue
    fi
    log="$copy/$name.log"
    if ! (cd "$copy/tree" && swift build --build-tests) >"$log" 2>&1; then
        echo "DOES NOT BUILD (see $log)"
        broken+=("$name")
    else
        # The tests' own program: `swift test` would leave a test that waits forever behind when it is ended.
        (cd "$copy/tree" && timeout -k 5 180 .build/debug/*PackageTests.xctest \
            --testing-library swift-testing --filter "$filter") >"$log" 2>&1
        status=$?
        test=$(grep -oE 'Test "[^"]+" (failed|recorded)' "$log" | head -1 | sed -E 's/ (failed|recorded)$//')
        if ! grep -q 'Test run started' "$log"; then
            echo "NOT TESTED (see $log)"
            broken+=("$name")
        elif [ $status -eq 0 ]; then
            echo "SURVIVED       $(sed -n 's/^breaks: //p' "$patch" | head -1)"
            survived+=("$name")
        elif [ $status -eq 124 ] || [ $status -eq 137 ]; then
            echo "caught by      ${test:-a test} (and one that waits in vain)"
            caught=$((caught + 1))
        else
            echo "caught by      ${test:-a crash}"
            caught=$((caught + 1))
        fi
    fi
    (cd "$copy/tree" && patch -p1 -R --quiet --no-backup-if-mismatch) <"$patch" >/dev/null
done

echo
echo "$caught caught, ${#survived[@]} survived, ${#broken[@]} not usable"
[ ${#survived[@]} -eq 0 ] && [ ${#broken[@]} -eq 0 ] && [ $caught -gt 0 ]

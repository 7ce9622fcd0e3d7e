#!/usr/bin/env bash
# Makes a release from built programs: packages, image, manifests, parts lists, digests and their signature.
#
#   deploy/release/build.sh PROGRAMS OUT [KEY]
#
# PROGRAMS is the folder of a release build with the static Swift runtime (`make programs`). OUT must be empty. KEY is
# the file of a minisign key; the public key must be beside it, with the ending .pub. Without KEY nothing is signed.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
programs=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
key=${3:+$(realpath --canonicalize-existing --no-symlinks "$3")}
# At the end, where it is seen: make takes KEY from its arguments, not from the environment.
[ -n "$key" ] || trap 'echo "not signed, since no key was named: make release KEY=FILE" >&2' EXIT
[ -z "$(ls -A "$out")" ] || { echo "$out is not empty: name another folder, or remove what it has" >&2; exit 1; }

said=$("$programs/remote-pin-server" --version)
version=$(sed -E 's/^remote-pin-server ([0-9.]+) .*/\1/' <<<"$said")
commit=$(sed -nE 's/.*\(git ([^,)]+).*/\1/p' <<<"$said")
grep -Eq "^## \[$version\] - [0-9]{4}-[0-9]{2}-[0-9]{2}$" "$root/CHANGELOG.md" || {
    echo "CHANGELOG.md has no section with a date for $version" >&2
    exit 1
}
case $commit in
"" | *-dirty)
    echo "$said: the programs are not those of one commit; commit, or stash your changes, and build again" >&2
    exit 1
    ;;
esac
# A build that ended early leaves programs of an earlier commit.
for name in remote-pin-portal remote-pin-keys remote-pin-lab wallet pin-load; do
    other=$("$programs/$name" --version)
    [ "$other" = "${said/remote-pin-server/$name}" ] || { echo "$said, but $other: build again" >&2; exit 1; }
done
# Units, documents and manifests come from the tree, and a file that git does not know may be in a program. What a user
# told git to ignore, or to take as unchanged, counts too.
changed=$(
    git -C "$root" status --porcelain --untracked-files=no &&
        git -C "$root" ls-files --others --exclude-per-directory=.gitignore | sed 's/^/?? /' &&
        git -C "$root" ls-files -v | sed '/^H/d'
)
if [ "$(git -C "$root" describe --always --exclude='*' --abbrev=12)" != "$commit" ] || [ -n "$changed" ]; then
    echo "the programs are those of $commit and the files are not: check it out, or build again" >&2
    [ -z "$changed" ] || printf '%s\n' "$changed" >&2
    exit 1
fi
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct "$commit")
export SOURCE_DATE_EPOCH
# Test packages may be larger (deploy/debian/rules).
unset COMPRESSION

"$root/deploy/debian/build.sh" "$programs" "$out" "$version"
"$root/deploy/container/build.sh" "$programs" "$out" "$version"
cp "$root/CHANGELOG.md" "$out/"
for artifact in "$out"/*.deb "$out"/*.oci.tar; do
    "$root/deploy/release/sbom.py" "$artifact" "$version" "$commit" "$programs" >"$artifact.cdx.json"
done
rm "$out"/*.oci.packages

cd "$out"
find . -type f ! -name 'SHA256SUMS*' -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum >SHA256SUMS
if [ -n "$key" ]; then
    minisign -S -s "$key" -m SHA256SUMS -t "remote-pin $version, commit $commit"
    minisign -V -q -p "$key.pub" -m SHA256SUMS
fi
du -h --apparent-size -- * | sort -h

#!/usr/bin/env bash
# Tests a release made of built programs: Tests/Packaging/release.sh PROGRAMS
#
# Makes it twice in different folders with a test key and compares the two. Verifies it as docs/packaging.md says, and
# altered copies of it. Checks the lists of parts and the manifests against their schemas. Runs the image. Needs root.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
programs=$(cd "$1" && pwd)
work=$(mktemp -d /tmp/remote-pin-release.XXXXXX)
trap 'rm -rf "$work"' EXIT
say() { printf '== %s ==\n' "$*"; }
must() { "$@" || { printf 'failed: %s\n' "$*" >&2; exit 1; }; }
fails() { if "$@" >"$work/fails.out" 2>&1; then printf 'should have failed: %s\n' "$*" >&2; exit 1; fi; }

say "make it twice"
for name in key other; do minisign -G -W -f -p "$work/$name.pub" -s "$work/$name" >/dev/null; done
"$root/deploy/release/build.sh" "$programs" "$work/one" "$work/key"
(
    umask 077
    cd "$work"
    TZ=Asia/Tokyo LANG=C DEB_BUILD_OPTIONS='nodoc nostrip' DEB_BUILD_PROFILES=nodoc COMPRESSION=-Znone \
        "$root/deploy/release/build.sh" "$programs" further/two key >/dev/null
)
must "$root/deploy/release/compare.py" "$work/one" "$work/further/two"
fails "$root/deploy/release/compare.py" "$work/mistyped" "$work/mistyped"

say "sizes"
at_most() { must test "$(stat -c %s "$work"/one/$1)" -le $(($2 * 1000000)); }
at_most 'remote-pin-server_*.deb' 15
at_most 'remote-pin-tools_*.deb' 35
at_most '*.oci.tar' 60

say "verify; altered releases are found"
verify() { (cd "$1" && minisign -V -q -p "$2" -m SHA256SUMS && sha256sum --check --quiet --strict SHA256SUMS); }
must verify "$work/one" "$work/key.pub"
fails verify "$work/one" "$work/other.pub"
altered=$work/further/two
deb=$(basename "$altered"/remote-pin-portal_*.deb)
printf '\001' | dd of="$altered/$deb" bs=1 seek=5000 conv=notrunc status=none
fails verify "$altered" "$work/key.pub"
fails "$root/deploy/release/compare.py" "$work/one" "$altered"
must grep -q "^$deb" "$work/fails.out"
(cd "$altered" && sha256sum "$deb" | sed -i -e "/ $(sed 's/\./\\./g' <<<"$deb")\$/{r /dev/stdin" -e 'd}' SHA256SUMS)
must sha256sum --check --quiet --strict - <<<"$(cd "$altered" && sed "s|  |  $altered/|" SHA256SUMS)"
fails verify "$altered" "$work/key.pub"

say "a folder with files is not overwritten; changed sources are not released"
fails "$root/deploy/release/build.sh" "$programs" "$work/one" "$work/key"
mkdir "$work/dirty"
printf '#!/bin/sh\necho "remote-pin-server 1.0.0 (git 0123456789ab-dirty, protocol remote-pin/1)"\n' \
    >"$work/dirty/remote-pin-server"
chmod +x "$work/dirty/remote-pin-server"
fails "$root/deploy/release/build.sh" "$work/dirty" "$work/none" "$work/key"
fails "$root/deploy/release/build.sh" "$work/dirty" "$work/none"
must grep -q 'not signed' "$work/fails.out"
mkdir "$work/mixed"
ln -s "$programs"/* "$work/mixed/"
rm "$work/mixed/wallet"
printf '#!/bin/sh\necho "wallet 1.0.0 (git 0123456789ab, protocol remote-pin/1)"\n' >"$work/mixed/wallet"
chmod +x "$work/mixed/wallet"
fails "$root/deploy/release/build.sh" "$work/mixed" "$work/none" "$work/key"
must grep -q 'but wallet 1.0.0 (git 0123456789ab' "$work/fails.out"
git clone --quiet "$root" "$work/clone"
git -C "$work/clone" -c user.name=test -c user.email=test@localhost tag --annotate --message=test v0.0.1
make --directory "$work/clone" --no-print-directory --eval='print-id: ; @echo $(GIT_ID)' print-id >"$work/id.out"
must grep -qx '[0-9a-f]*' "$work/id.out"
sed -i 's/^## \[1/## [0/' "$work/clone/CHANGELOG.md"
fails "$work/clone/deploy/release/build.sh" "$programs" "$work/none" "$work/key"
must grep -q 'CHANGELOG.md has no section' "$work/fails.out"
git -C "$work/clone" checkout --quiet CHANGELOG.md
echo >"$work/clone/deploy/maintenance/unknown"
fails "$work/clone/deploy/release/build.sh" "$programs" "$work/none" "$work/key"
must grep -q '?? deploy/maintenance/unknown' "$work/fails.out"
# Files that git does not show to this user.
echo /deploy/maintenance/unknown >"$work/clone/.git/info/exclude"
fails "$work/clone/deploy/release/build.sh" "$programs" "$work/none" "$work/key"
must grep -q '?? deploy/maintenance/unknown' "$work/fails.out"
rm "$work/clone/deploy/maintenance/unknown"
git -C "$work/clone" update-index --assume-unchanged deploy/debian/token
fails "$work/clone/deploy/release/build.sh" "$programs" "$work/none" "$work/key"
must grep -q '^h deploy/debian/token' "$work/fails.out"

say "the lists of parts and the manifests are valid"
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
"$work/venv/bin/python" - "$work/one"/*.cdx.json <<'PYTHON'
import json, sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
for path in sys.argv[1:]:
    text = open(path).read()
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if error:
        sys.exit(f"{path}: {error}")
    names = {part["name"]: part for part in json.loads(text)["components"]}
    missing = {"swift-nio", "swift-crypto", "libssl3", "Swift runtime and Foundation"} - set(names)
    # Swift packages and the runtime contain their source.
    missing |= {"BoringSSL", "ICU", "libyaml"} - set(names)
    if missing:
        sys.exit(f"{path} lacks {missing}")
    # Only the portal links the web server, and only the tools the histogram.
    found = {"hdrhistogram-swift", "hummingbird"} & set(names)
    serves_web = "portal" in path or "oci" in path
    expected = {"hummingbird"} if serves_web else {"hdrhistogram-swift"} if "tools" in path else set()
    if found != expected:
        sys.exit(f"{path} has {found}, not {expected}")
    if path.endswith("oci.tar.cdx.json") and not names["libssl3"].get("hashes"):
        sys.exit(f"{path}: libssl3 has no digest")
PYTHON
for manifest in "$work"/one/kubernetes/*.yaml; do
    must "$work/venv/bin/kubernetes-validate" --strict --quiet "$manifest"
done
digest=$(tar -xOf "$work"/one/*.oci.tar index.json |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["manifests"][0]["digest"])')
# Every image in the manifests is this one.
images=$(grep -h 'image: ' "$work"/one/kubernetes/*.yaml | grep -v '\*image')
must test "$(grep -c . <<<"$images")" = 4
must test "$(grep -c "@$digest$" <<<"$images")" = 4

"$here/container.sh" "$programs" "$work/one"
echo "release test passed"

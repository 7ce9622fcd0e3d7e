#!/usr/bin/env bash
# Makes an older release of packages, for tests of an upgrade: Tests/Packaging/older.sh DEBS OUT
#
# It has the same programs, version 0.0.1, and a configuration file without some of the settings.
set -euo pipefail

mkdir -p "$2"
out=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for deb in "$1"/*.deb; do
    name=$(dpkg-deb --field "$deb" Package)
    dpkg-deb --raw-extract "$deb" "$work/$name"
    sed -i 's/^Version: .*/Version: 0.0.1/' "$work/$name/DEBIAN/control"
    configuration=$work/$name/etc/remote-pin/server.yaml
    if [ -e "$configuration" ]; then
        for line in '  #long-frames:' drain:; do grep -q "^$line" "$configuration"; done
        sed -i '/^  #long-frames:/d; /^drain:/,/^$/d' "$configuration"
    fi
    dpkg-deb --root-owner-group -Znone --build "$work/$name" "$out" >/dev/null
done

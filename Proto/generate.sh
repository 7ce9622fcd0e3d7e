#!/bin/sh
# Compiles Proto/remotepin to the C in Proto/generated. With --check it writes nothing and fails where they differ.
set -eu
cd "$(dirname "$0")"

compile() {
    mkdir -p "$1"
    protoc-c --c_out="$1" remotepin/v1/wallet.proto remotepin/v1/admin.proto remotepin/v1/portal.proto
}

if [ "${1:-}" = --check ]; then
    fresh=$(mktemp -d)
    trap 'rm -rf "$fresh"' EXIT
    compile "$fresh"
    diff -r "$fresh" generated || {
        echo "Proto/generated does not match Proto/remotepin: run 'make proto' and commit the result." >&2
        exit 1
    }
else
    rm -rf generated
    compile generated
fi

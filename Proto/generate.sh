#!/bin/sh
# Compiles Proto/remotepin to the C in Proto/generated. With --check it writes nothing and fails if they differ.
set -eu
cd "$(dirname "$0")"

compile() {
    mkdir -p "$1"
    protoc-c --c_out="$1" remotepin/v1/wallet.proto remotepin/v1/portal.proto

    # Lets Swift name the structs, their fields and the functions without `unsafe`. Following a pointer in a
    # struct still needs it; only MessageReader and MessageWriter in Sources/Shared/Wire do so.
    safe='push(__attribute__((swift_attr("safe"))), apply_to = any(record, field, function))'
    sed -i -e "s/^PROTOBUF_C__BEGIN_DECLS/&\n\n#pragma clang attribute $safe/" \
        -e 's/^PROTOBUF_C__END_DECLS/#pragma clang attribute pop\n\n&/' \
        "$1"/remotepin/v1/wallet.pb-c.h "$1"/remotepin/v1/portal.pb-c.h
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

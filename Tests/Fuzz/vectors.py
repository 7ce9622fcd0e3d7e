#!/usr/bin/env python3
"""Writes the evidence of real devices as inputs of the fuzzer's targets.

    vectors.py VECTORS TARGET FOLDER

Writes nothing if the vectors are not installed or the target reads no evidence. An input of `android` or `apple`
begins with the byte 0, which leaves out no step of its repair.
"""
import hashlib
import json
import os
import sys

MOST_BYTES = 8_000


def inputs(target, case, read):
    files = case["files"]
    chain = [read(path) for path in files.get("chain") or []]
    objects = [read(files[name]) for name in ("attestation", "assertion") if files.get(name)]
    if target == "android" and chain:
        yield b"\0" + b"".join(chain)
    elif target == "der":
        yield from chain[:1]
    elif target in ("apple", "cbor"):
        yield from (b"\0" + data if target == "apple" else data for data in objects)


def main(vectors, target, folder):
    manifest = os.path.join(vectors, "manifest.json")
    if not os.path.exists(manifest):
        return

    def read(path):
        with open(os.path.join(vectors, path), "rb") as file:
            return file.read()

    for case in json.load(open(manifest))["cases"]:
        for data in inputs(target, case, read):
            if len(data) <= MOST_BYTES:
                with open(os.path.join(folder, hashlib.sha1(data).hexdigest()), "wb") as file:
                    file.write(data)


main(*sys.argv[1:])

#!/usr/bin/env python3
"""Writes the seed corpus of the fuzzer: each input begins with the number of its target (Fuzz.swift).

    seeds.py FOLDER VECTORS

Uses the vectors if they are installed, and always the small cases below.
"""
import hashlib
import json
import os
import sys

CBOR, OBJECT, ASSERTION, AUTH_DATA, CERTIFICATE, DESCRIPTION, CHAIN, APPLE, PEM, PROXY = range(10)
EXTENSION = bytes.fromhex("060a2b06010401d679020111")  # 1.3.6.1.4.1.11129.2.1.17


def main(folder, vectors):
    count = 0

    def keep(target, data):
        nonlocal count
        data = bytes([target]) + data
        if len(data) <= 40000:
            with open(os.path.join(folder, hashlib.sha1(data).hexdigest()), "wb") as file:
                file.write(data)
            count += 1

    for text in ["80", "a0", "9a04000000", "bb7fffffffffffffff", "a2616101616202", "8181818181818181", "f6", "1818"]:
        for target in [CBOR, OBJECT, ASSERTION, APPLE]:
            keep(target, bytes.fromhex(text))
    for text in ["3000", "3080", "30847fffffff", "30030201ff", "3003020100"]:
        for target in [CERTIFICATE, DESCRIPTION]:
            keep(target, bytes.fromhex(text))
    signature = bytes.fromhex("0d0a0d0a000d0a515549540a")
    for text in ["2111000c c0000207c63364011f9001bb", "21210024" + "20" * 32 + "1f9001bb", "20000000", "21000003ea0000", "2111ffff"]:
        keep(PROXY, signature + bytes.fromhex(text))
    keep(PROXY, b"PROXY TCP4 192.0.2.7 198.51.100.1 8080 443\r\n")
    keep(AUTH_DATA, bytes(37))
    keep(PEM, b"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n")

    if os.path.exists(os.path.join(vectors, "manifest.json")):
        def read(path):
            with open(os.path.join(vectors, path), "rb") as file:
                return file.read()
        for case in json.load(open(os.path.join(vectors, "manifest.json")))["cases"]:
            files = case["files"]
            chain = [read(path) for path in files.get("chain") or []]
            if chain:
                keep(CHAIN, b"".join(len(c).to_bytes(2, "big") + c for c in chain if len(c) < 65536))
                keep(CERTIFICATE, chain[0])
                at = chain[0].find(EXTENSION)
                if at >= 0:
                    start = chain[0].find(b"\x30", at + len(EXTENSION))
                    rest = chain[0][start:]
                    if rest[1:2] == b"\x82":
                        keep(DESCRIPTION, rest[: 4 + int.from_bytes(rest[2:4], "big")])
                    elif rest[1:2] == b"\x81":
                        keep(DESCRIPTION, rest[: 3 + rest[2]])
            if files.get("attestation"):
                data = read(files["attestation"])
                for target in [CBOR, OBJECT, APPLE]:
                    keep(target, data)
                at = data.find(b"authData")
                if at >= 0:
                    keep(AUTH_DATA, data[at + 10 :] if data[at + 8] == 0x58 else data[at + 11 :])
            if files.get("assertion"):
                data = read(files["assertion"])
                for target in [CBOR, ASSERTION]:
                    keep(target, data)
    else:
        print(f"no vectors in {vectors}: the corpus begins with small cases only", file=sys.stderr)
    print(f"{count} first inputs")


main(*sys.argv[1:])

#!/usr/bin/env python3
"""Writes an object file with the part of ICU's data that the programs use: icu-data.py OUT.o

Foundation's static library contains 34 MB of data for all languages, character sets and scripts, as much as everything
else in a program. The portal formats dates in English and Dutch, and nothing else uses a locale. A program that is
linked with this object does not take the library's. Kept are English, Dutch, the defaults and items of no
language, such as time zones.
"""

import re
import struct
import subprocess
import sys
import json
import tempfile
from pathlib import Path

# A resource bundle with such a name belongs to one language.
LANGUAGE = re.compile(r"[a-z]{2,3}(_\w+)*")
KEPT_LANGUAGE = re.compile(r"(en|nl)(_\w+)*")
# Character sets, dictionaries for scripts without spaces, models of these, transliterations, and names of characters.
UNUSED = re.compile(r".*\.(cnv|dict)|brkitr/.*lstm.*|translit/.*|unames\.icu")


def static_library():
    described = subprocess.run(["swiftc", "-print-target-info"], capture_output=True, check=True).stdout
    runtime = Path(json.loads(described)["paths"]["runtimeResourcePath"])
    return runtime.with_name("swift_static") / "linux/lib_FoundationICU.a"


def is_kept(name):
    name = name.split("/", 1)[1]
    language = name.rsplit("/", 1)[-1].removesuffix(".res")
    if UNUSED.fullmatch(name):
        return False
    return language == "root" or not LANGUAGE.fullmatch(language) or bool(KEPT_LANGUAGE.fullmatch(language))


def reduced(data):
    """Returns a package of ICU's common format with the kept items: a header, a table of contents, the items."""
    start = struct.unpack_from("<H", data)[0]
    if data[2:4] != b"\xda\x27" or data[12:16] != b"CmnD":
        sys.exit("icu-data.py: the library's data does not have the known format; see the Swift version's ICU")
    count = struct.unpack_from("<I", data, start)[0]
    places = [struct.unpack_from("<II", data, start + 4 + 8 * index) for index in range(count)]
    ends = [item for _, item in places[1:]] + [len(data) - start]
    items = []
    for (name, item), end in zip(places, ends):
        text = data[start + name:data.index(b"\0", start + name)].decode()
        if is_kept(text):
            items.append((text.encode() + b"\0", data[start + item:start + end]))
    names, contents, table = b"", b"", b""
    first_name = 4 + 8 * len(items)
    first_item = -(-(first_name + sum(len(name) for name, _ in items)) // 16) * 16
    for name, item in items:
        table += struct.pack("<II", first_name + len(names), first_item + len(contents))
        names += name
        contents += item + bytes(-len(item) % 16)
    head = struct.pack("<I", len(items)) + table + names
    return data[:start] + head.ljust(first_item, b"\0") + contents


def main(out):
    library = static_library()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        member = "icu_packaged_data.cpp.o"
        subprocess.run(["ar", "x", library, member], cwd=folder, check=True)
        symbols = subprocess.run(["nm", "--defined-only", folder / member], capture_output=True, check=True, text=True)
        symbol = symbols.stdout.split()[-1]
        subprocess.run(["objcopy", "-O", "binary", "--only-section=.rodata", member, "all"], cwd=folder, check=True)
        everything = (folder / "all").read_bytes()
        kept = reduced(everything)
        (folder / "kept").write_bytes(kept)
        (folder / "data.S").write_text(
            f'.section .rodata\n.balign 16\n.globl {symbol}\n{symbol}:\n.incbin "kept"\n'
            '.section .note.GNU-stack,"",%progbits\n'
        )
        subprocess.run(["clang", "-c", "data.S", "-o", Path(out).resolve()], cwd=folder, check=True)
    print(f"{out}: {len(kept) >> 10} of {len(everything) >> 10} KiB of ICU's data")


main(*sys.argv[1:])

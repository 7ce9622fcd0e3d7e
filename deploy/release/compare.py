#!/usr/bin/env python3
"""Compares two releases and names the first difference: compare.py FOLDER FOLDER

Exits with 1 if they differ. Looks into packages, images and programs, down to the section of a program. Signatures are
not compared: they contain the time of signing.
"""

import gzip
import io
import lzma
import subprocess
import sys
import tarfile
import tempfile
import zlib
from pathlib import Path


def members(content, name):
    """Returns the parts of a file by name, or None if it has none."""
    if content[:8] == b"!<arch>\n":
        parts, place = {}, 8
        while place < len(content):
            head = content[place:place + 60]
            size = int(head[48:58])
            parts[head[:16].decode().strip()] = content[place + 60:place + 60 + size]
            parts[head[:16].decode().strip() + " (time, owner, mode)"] = head[16:48]
            place += 60 + size + size % 2
        return parts
    unpack = {b"\xfd7zXZ\0": lzma.decompress, b"\x1f\x8b": gzip.decompress}
    for start, function in unpack.items():
        if content.startswith(start):
            try:
                return {"": function(content)}
            except (lzma.LZMAError, zlib.error, EOFError, OSError):
                return None  # damaged
    if content[257:262] == b"ustar":
        parts = {}
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            for order, entry in enumerate(archive):
                facts = (order, entry.type, entry.mode, entry.uid, entry.gid, entry.uname, entry.mtime, entry.linkname)
                parts[entry.name + " (order, mode, owner, time, link)"] = repr(facts).encode()
                if entry.isfile():
                    parts[entry.name] = archive.extractfile(entry).read()
        return parts
    if content[:4] == b"\x7fELF":
        return sections(content)
    return None


def sections(content):
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        lines = subprocess.run(["readelf", "--section-headers", "--wide", file.name], capture_output=True, text=True)
    parts = {}
    for line in lines.stdout.splitlines():
        words = line.replace("[ ", "[").split()
        if len(words) > 6 and words[0].startswith("[") and words[0] != "[Nr]" and words[2] != "NOBITS":
            offset, size = int(words[4], 16), int(words[5], 16)
            parts[f"section {words[1]}"] = content[offset:offset + size]
    return parts


def first_difference(one, other, path):
    """Returns the path of the first part that differs, with the reason; None if there is none."""
    if one == other:
        return None
    parts, others = members(one, path), members(other, path)
    if parts is None or others is None:
        pairs = enumerate(zip(one, other))
        place = next((index for index, pair in pairs if pair[0] != pair[1]), min(len(one), len(other)))
        around = slice(max(0, place - 16), place + 32)
        return f"{path}: byte {place} of {len(one)} and {len(other)}: {one[around]!r} and {other[around]!r}"
    for name in sorted(parts.keys() | others.keys()):
        part = f"{path} > {name}" if name else path
        if name not in parts or name not in others:
            return f"{part}: only in the {'second' if name not in parts else 'first'}"
        if found := first_difference(parts[name], others[name], part):
            return found
    return f"{path}: the parts are equal, the bytes around them differ (compression or padding)"


def main(one, other):
    folders = [Path(one), Path(other)]
    names = [{str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} for folder in folders]
    if not names[0] and not names[1]:
        return "neither folder has a file"
    # A manifest names the image's digest, so packages and images come first.
    for name in sorted(names[0] | names[1], key=lambda name: (not name.endswith((".deb", ".tar")), name)):
        # Digests differ if and only if a file does, which is named.
        if name in ("SHA256SUMS", "SHA256SUMS.minisig"):
            continue
        if name not in names[0] or name not in names[1]:
            return f"{name}: only in the {'second' if name not in names[0] else 'first'}"
        if found := first_difference(*((folder / name).read_bytes() for folder in folders), name):
            return found
    return None


difference = main(*sys.argv[1:])
print(difference or "equal, byte by byte")
sys.exit(1 if difference else 0)

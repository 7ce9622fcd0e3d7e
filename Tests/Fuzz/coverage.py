#!/usr/bin/env python3
"""Prints how many functions of each target of Package.swift the kept inputs of each fuzzing target reach.

    coverage.py PROGRAM [TARGET…]

Runs every input in .build-fuzz/work/corpus and Tests/Fuzz/Corpus once, which takes a minute or two. The compiler splits
an asynchronous function at each `await`, and each part counts as a function. Edges are not counted: most of them belong
to the checks of the address sanitizer, which only a defect reaches.
"""
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FUNCTION = re.compile(r"(?:UN)?COVERED_FUNC: hits: (\d+) edges: \S+ .* (\S+?):\d*$")
# The targets of Package.swift that read the inputs.
READERS = {
    "server": ["RemotePINServer", "Transport", "WalletStore", "PINPolicy", "Wire", "Statements"],
    "messages": ["Wire", "Statements"], "frames": ["Transport"], "tls": ["Transport"],
    "android": ["AttestationVerifier", "Evidence"], "apple": ["AttestationVerifier", "Evidence"],
    "der": ["Evidence"], "cbor": ["Evidence"], "yaml": ["ConfigText", "ServerSettings", "Scenarios"],
    "admin": ["Administration", "AdminProtocol"], "portal": ["DeletionPortal"],
    "backup": ["StoreMaintenance", "WalletStore"], "wal": ["WalletStore"],
    "audit": ["AuditLog", "StoreMaintenance"], "key-file": ["Vault"],
}


def main(program, *names):
    symbolizer = Path(shutil.which("swiftc")).resolve().parent / "llvm-symbolizer"
    environment = os.environ | {"ASAN_SYMBOLIZER_PATH": str(symbolizer), "ASAN_OPTIONS": "detect_leaks=0"}
    names = names or subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
    for name in names:
        folders = [ROOT / ".build-fuzz/work/corpus" / name, ROOT / "Tests/Fuzz/Corpus" / name]
        command = [program, name, "-runs=0", "-print_coverage=1", "-detect_leaks=0"]
        run = subprocess.run(command + [str(folder) for folder in folders if folder.exists()], capture_output=True,
                             errors="replace", env=environment)
        reached, total = Counter(), Counter()
        for line in run.stderr.splitlines():
            if match := FUNCTION.match(line):
                module = next((part for part in match[2].split("/") if part in READERS[name]), None)
                reached[module] += match[1] != "0"
                total[module] += 1
        print(name + ":", ", ".join(f"{module} {reached[module]} of {total[module]}" for module in READERS[name]))


main(*sys.argv[1:])

#!/usr/bin/env python3
"""Compares the dependencies that Package.swift declares for each target with the modules that its sources import.

    Tests/Manifest/check.py

Prints each dependency that is declared and never imported; the build itself rejects an import that is not
declared. Exits with 1 if there is one. Programs are exempt: a test that runs one declares it to have it built.
"""
import json, re, subprocess, sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IMPORT = re.compile(r"^\s*(?:@\w+\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?import\s+(?:\w+\s+)?(\w+)")


def main():
    described = subprocess.run(["swift", "package", "dump-package"], cwd=ROOT, capture_output=True, check=True).stdout
    targets = json.loads(described)["targets"]
    programs = {target["name"] for target in targets if target["type"] == "executable"}
    unused = 0
    for target in targets:
        folder = ROOT / (target.get("path") or f"Tests/{target['name']}")
        sources = list(folder.rglob("*.swift"))
        if not sources:
            continue
        imported = set()
        for source in sources:
            imported.update(match[1] for match in map(IMPORT.match, source.read_text().splitlines()) if match)
        for dependency in target["dependencies"]:
            name = (dependency.get("byName") or dependency.get("product") or dependency.get("target"))[0]
            if name not in imported and name not in programs:
                print(f"Package.swift: {target['name']} declares {name} and never imports it; remove the dependency")
                unused += 1
    return 1 if unused else 0


if __name__ == "__main__":
    sys.exit(main())

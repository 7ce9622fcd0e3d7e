#!/usr/bin/env python3
"""Compares Package.swift with the sources and with the picture in docs/architecture.md.

    Tests/Manifest/check.py            fails if a target declares a dependency that it never imports, if its list of
                                       targets is not in alphabetical order, or if the picture is out of date
    Tests/Manifest/check.py --write    draws the picture anew

The build itself rejects an import that is not declared. Programs are exempt: a test that runs one declares it
to have it built.
"""
import json, re, subprocess, sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IMPORT = re.compile(r"^\s*(?:@\w+\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?import\s+(?:\w+\s+)?(\w+)")


PICTURE = ROOT / "docs/architecture.md"
BEGIN, END = "<!-- dependencies: begin -->\n", "<!-- dependencies: end -->"
# Most targets depend on these; their arrows would hide the others.
OMITTED = {"Vocabulary", "HostSystem", "Secrets"}
LAYERS = {
    "Sources/Client/Wallet": "Client: wallet", "Sources/Client/Load": "Client: load tool",
    "Sources/Shared": "Shared", "Sources/Server": "Server",
}


def dependency_names(target):
    return [(d.get("byName") or d.get("product") or d.get("target"))[0] for d in target["dependencies"]]


def picture(targets):
    """Returns a Mermaid graph of the Swift targets, without arrows that follow from others."""
    layers = {}
    for target in targets:
        for folder, layer in LAYERS.items():
            if (target.get("path") or "").startswith(folder) and list((ROOT / target["path"]).rglob("*.swift")):
                layers[target["name"]] = layer
    nodes = {name for name in layers if name not in OMITTED}
    direct = {t["name"]: {d for d in dependency_names(t) if d in nodes} for t in targets if t["name"] in nodes}

    def reached(name):
        found = set()
        for dependency in direct[name]:
            found |= {dependency} | reached(dependency)
        return found

    lines = ["```mermaid", "graph LR"]
    for layer in LAYERS.values():
        lines.append(f'    subgraph "{layer}"')
        lines += [f"        {name}" for name in sorted(nodes) if layers[name] == layer]
        lines.append("    end")
    for name in sorted(nodes):
        implied = set().union(*(reached(dependency) for dependency in direct[name]))
        lines += [f"    {name} --> {dependency}" for dependency in sorted(direct[name] - implied)]
    return "\n".join(lines + ["```", ""])


def main():
    described = subprocess.run(["swift", "package", "dump-package"], cwd=ROOT, capture_output=True, check=True).stdout
    targets = json.loads(described)["targets"]
    programs = {target["name"] for target in targets if target["type"] == "executable"}
    names = {target["name"] for target in targets}
    problems = 0
    for target in targets:
        folder = ROOT / (target.get("path") or f"Tests/{target['name']}")
        sources = list(folder.rglob("*.swift"))
        if not sources:
            continue
        imported = set()
        for source in sources:
            imported.update(match[1] for match in map(IMPORT.match, source.read_text().splitlines()) if match)
        declared = dependency_names(target)
        for name in declared:
            if name not in imported and name not in programs:
                print(f"Package.swift: {target['name']} declares {name} and never imports it; remove the dependency")
                problems += 1
        own = [name for name in declared if name in names]
        if own != sorted(own, key=str.lower):
            print(f"Package.swift: {target['name']} lists targets out of alphabetical order; sort its dependencies")
            problems += 1
    text = PICTURE.read_text()
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    drawn = text[:start] + picture(targets) + text[end:]
    if "--write" in sys.argv[1:]:
        PICTURE.write_text(drawn)
    elif text != drawn:
        print("docs/architecture.md: the picture is out of date; run Tests/Manifest/check.py --write")
        return 1
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

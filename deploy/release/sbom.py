#!/usr/bin/env python3
"""Writes the parts of a package or an image as CycloneDX JSON: sbom.py ARTIFACT VERSION COMMIT PROGRAMS >SBOM

ARTIFACT is a .deb, or an image's .oci.tar with its list of Debian packages beside it. PROGRAMS is the folder of the
build, which lists the modules in each program. Digests of commits are left out, because a build machine may resolve
packages from copies.
"""

import datetime
import hashlib
import json
import os
import subprocess
import sys
import uuid
from pathlib import Path


PROGRAMS = {
    "remote-pin-server.deb": ["remote-pin-server"], "remote-pin-portal.deb": ["remote-pin-portal"],
    "remote-pin-keys.deb": ["remote-pin-keys"], "remote-pin-tools.deb": ["remote-pin-lab", "wallet", "pin-load"],
    "remote-pin-server.tar": ["remote-pin-server", "remote-pin-portal"],
}


def swift_packages(programs, names):
    """Yields the packages that have a module in one of the programs."""
    modules = set()
    for name in names:
        objects = (programs / f"{name}.product/Objects.LinkFileList").read_text()
        modules |= {Path(line).parent.name.removesuffix(".build") for line in objects.splitlines()}
    scratch = programs.resolve().parents[1]
    # The checkouts of this build; Package.resolved may have changed since.
    for package in json.loads((scratch / "workspace-state.json").read_text())["object"]["dependencies"]:
        folder = scratch / "checkouts" / package["subpath"]
        if not any((place / module).is_dir() for place in (folder / "Sources", folder) for module in modules):
            continue
        name = package["packageRef"]["identity"]
        address = package["packageRef"]["location"].removeprefix("https://").removesuffix(".git")
        version = package["state"]["checkoutState"]["version"]
        yield {"type": "library", "name": name, "version": version, "purl": f"pkg:swift/{address}@{version}"}


def runtime():
    words = subprocess.run(["swift", "--version"], capture_output=True, check=True, text=True).stdout.split()
    version = words[words.index("version") + 1]
    purl = f"pkg:swift/github.com/swiftlang/swift@{version}"
    return {"type": "framework", "name": "Swift runtime and Foundation", "version": version, "purl": purl}


def needed_libraries(deb):
    """Yields the packages that a package depends on; the machine on which it is installed chooses their versions."""
    field = subprocess.run(["dpkg-deb", "--field", deb, "Depends"], capture_output=True, check=True, text=True).stdout
    for relation in field.strip().split(", "):
        name = relation.split(" ")[0]
        yield {"type": "library", "name": name, "purl": f"pkg:deb/debian/{name}?distro=debian-12",
               "properties": [{"name": "debian:depends", "value": relation}]}


def contained_packages(listing):
    for line in listing.read_text().splitlines():
        name, version, architecture, digest = line.split()
        purl = f"pkg:deb/debian/{name}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={architecture}"
        yield {"type": "library", "name": name, "version": version, "purl": purl + "&distro=debian-12",
               "hashes": [{"alg": "SHA-256", "content": digest}]}


def main(artifact, version, commit, programs):
    artifact = Path(artifact)
    name = artifact.name.split("_")[0]
    digest = hashlib.sha256(artifact.read_bytes()).hexdigest()
    is_package = artifact.suffix == ".deb"
    system = needed_libraries(artifact) if is_package else contained_packages(artifact.with_suffix(".packages"))
    linked = swift_packages(Path(programs), PROGRAMS[name + artifact.suffix])
    parts = [runtime(), *linked, *system]
    for part in parts:
        part["bom-ref"] = part["purl"]
    own = {"type": "application" if is_package else "container", "bom-ref": artifact.name, "name": name,
           "version": version, "hashes": [{"alg": "SHA-256", "content": digest}],
           "licenses": [{"license": {"id": "Apache-2.0"}}],
           "properties": [{"name": "remote-pin:commit", "value": commit}]}
    time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    document = {
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest)}",
        "metadata": {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": own},
        "components": parts,
        "dependencies": [{"ref": artifact.name, "dependsOn": [part["bom-ref"] for part in parts]}],
    }
    json.dump(document, sys.stdout, indent=1)
    print()


main(*sys.argv[1:])

#!/usr/bin/env python3
"""Writes the parts of a package or an image as CycloneDX JSON: sbom.py ARTIFACT VERSION COMMIT PROGRAMS >SBOM

ARTIFACT is a .deb, or an image's .oci.tar with its list of Debian packages beside it. PROGRAMS is the folder of the
build, which lists the modules in each program. Digests of commits are left out, because a build machine may resolve
packages from copies. Libraries in C whose source a Swift package or Foundation contains are parts of their own.
"""

import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path


PROGRAMS = {
    "remote-pin-server.deb": ["remote-pin-server"], "remote-pin-portal.deb": ["remote-pin-portal"],
    "remote-pin-keys.deb": ["remote-pin-keys"], "remote-pin-tools.deb": ["remote-pin-lab", "wallet", "pin-load"],
    "remote-pin-server.tar": ["remote-pin-server", "remote-pin-portal"],
}


# The modules with the source of a library in C: its name, its repository, and the file and the pattern of its version,
# whose groups are joined by dots. Yams does not name the version of libyaml.
LLHTTP = r"LLHTTP_VERSION_MAJOR (\d+)\s+#define LLHTTP_VERSION_MINOR (\d+)\s+#define LLHTTP_VERSION_PATCH (\d+)"
CONTAINED = {
    "CCryptoBoringSSL": ("BoringSSL", "google/boringssl", "hash.txt", r"at revision (\w+)"),
    "CNIOLLHTTP": ("llhttp", "nodejs/llhttp", "include/c_nio_llhttp.h", LLHTTP),
    "CXKCP": ("XKCP", "XKCP/XKCP", "vendored-sources.txt", r"-g(\w+)\)"),
    "CYaml": ("libyaml", "yaml/libyaml", None, None),
}


def contained_library(name, repository, file, pattern):
    part = {"type": "library", "name": name, "purl": f"pkg:github/{repository.lower()}"}
    if file:
        found = re.search(pattern, file.read_text())
        if not found:
            sys.exit(f"sbom.py: {file} does not name the version of {name}")
        part["version"] = ".".join(found.groups())
        part["purl"] += f"@{part['version']}"
    return part


def swift_packages(programs, names):
    """Yields the packages that have a module in one of the programs, each with the libraries that it contains."""
    modules = set()
    for name in names:
        objects = (programs / f"{name}.product/Objects.LinkFileList").read_text()
        # A module in C has folders below its own.
        modules |= set(re.findall(r"/([^/]+)\.build/", objects))
    scratch = programs.resolve().parents[1]
    # The checkouts of this build; Package.resolved may have changed since.
    for package in json.loads((scratch / "workspace-state.json").read_text())["object"]["dependencies"]:
        folder = scratch / "checkouts" / package["subpath"]
        places = [place / module for place in (folder / "Sources", folder) for module in modules]
        places = [place for place in places if place.is_dir()]
        if not places:
            continue
        name = package["packageRef"]["identity"]
        address = package["packageRef"]["location"].removeprefix("https://").removesuffix(".git")
        version = package["state"]["checkoutState"]["version"]
        contained = []
        for place in sorted(place for place in places if place.name in CONTAINED):
            library, repository, file, pattern = CONTAINED[place.name]
            contained.append(contained_library(library, repository, file and place / file, pattern))
        part = {"type": "library", "name": name, "version": version, "purl": f"pkg:swift/{address}@{version}"}
        yield part, contained


def runtime():
    """Returns the Swift runtime, with the libraries that it contains."""
    words = subprocess.run(["swift", "--version"], capture_output=True, check=True, text=True).stdout.split()
    version = words[words.index("version") + 1]
    purl = f"pkg:swift/github.com/swiftlang/swift@{version}"
    described = subprocess.run(["swiftc", "-print-target-info"], capture_output=True, check=True).stdout
    headers = Path(json.loads(described)["paths"]["runtimeResourcePath"]) / "_foundation_unicode"
    icu = contained_library("ICU", "unicode-org/icu", headers / "uvernum.h", r'define U_ICU_VERSION "([\d.]+)"')
    return {"type": "framework", "name": "Swift runtime and Foundation", "version": version, "purl": purl}, [icu]


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
    linked = [runtime(), *swift_packages(Path(programs), PROGRAMS[name + artifact.suffix])]
    direct = [*(part for part, _ in linked), *system]
    # Two packages may contain one library.
    parts = {part["purl"]: part for part in [*direct, *(part for _, contained in linked for part in contained)]}
    dependencies = [{"ref": artifact.name, "dependsOn": [part["purl"] for part in direct]}]
    for part, contained in linked:
        if contained:
            dependencies.append({"ref": part["purl"], "dependsOn": [one["purl"] for one in contained]})
    for part in parts.values():
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
        "components": list(parts.values()),
        "dependencies": dependencies,
    }
    json.dump(document, sys.stdout, indent=1)
    print()


main(*sys.argv[1:])

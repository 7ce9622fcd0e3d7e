#!/usr/bin/env python3
"""Reads the files of each released version with the present programs.

    Tests/Released/check.py PROGRAMS             fails if one is not read, or if a version in CHANGELOG.md has none
    Tests/Released/check.py PROGRAMS --record    makes the files of the programs' version, before its release

An archive has a lab with its store, vault key and audit log, a backup, two phones, the wallets and a result of the load
tool, and the members of the JSON that commands printed, which must stay. A phone has entered a wrong PIN before the
backup, and the other one was revoked after it. Once a version is released, its archive never changes.
"""
import contextlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHANGELOG = HERE.parents[1] / "CHANGELOG.md"
PIN, WRONG_PIN = "135790", "000000"
REVOKED, WRONG, NOT_LINKED = 13, 10, 80
# Commands of an operator that change nothing.
COMMANDS = [
    "admin status", "admin sessions", "admin wallet list", "admin wallet show WALLET", "admin deny-list list",
    "admin flags list", "admin update-policy show", "admin reload", "vault status", "admin audit verify",
    "admin audit show", "admin receipts keys", "config show", "doctor",
]
# Comments, and the absolute paths of sockets.
LEFT_OUT = re.compile(r"^  socket: .*\n|^ *#.*\n|^\n", re.MULTILINE)


class Place:
    """A folder with the files of one version."""

    def __init__(self, folder, programs):
        self.folder, self.programs = Path(folder), programs
        self.lab = self.folder / "lab"

    def run(self, program, *arguments, status=0, text=""):
        command = [self.programs / program, *map(str, arguments)]
        done = subprocess.run(command, cwd=self.folder, input=text, capture_output=True, text=True, timeout=120)
        if status is not None and done.returncode != status:
            problem = f"{' '.join(map(str, command))}: status {done.returncode}, not {status}"
            sys.exit(f"{problem}\n{done.stdout}{done.stderr}")
        return done.stdout

    def admin(self, *words, **options):
        return json.loads(self.run("remote-pin-server", "admin", *words, "--lab", self.lab, "--json", **options))

    def phone(self, command, name, *options, pin=PIN, status=0):
        home = ["--lab", self.lab, "--home", self.folder / name]
        self.run("wallet", command, *home, "--pin-fd", 0, *options, status=status, text=f"{pin}\n")

    def load(self, out):
        self.run("pin-load", "run", "--lab", self.lab, "--wallets", self.folder / "wallets", "--connections", 2,
                 "--duration", "1s", "--mix", "right=80,wrong=20", "--out", self.folder / out)

    def verify_audit_log(self):
        self.run("remote-pin-server", "admin", "audit", "verify", "--lab", self.lab)

    def first_wallet(self):
        return self.admin("wallet", "list")["wallets"][0]["wallet"]

    def printed(self, command, wallet):
        """Returns the JSON that a command prints; the doctor's status is not 0 if it has a warning."""
        lab = [self.lab / "server"] if command in ("config show", "doctor") else ["--lab", self.lab]
        words = [wallet if word == "WALLET" else word for word in command.split()]
        return json.loads(self.run("remote-pin-server", *words, "--json", *lab, status=None))

    @contextlib.contextmanager
    def server(self):
        command = [self.programs / "remote-pin-lab", "up", self.lab]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            lines = []
            for line in process.stdout:
                lines.append(line)
                if line.startswith("ready on"):
                    break
            else:
                sys.exit("the server does not start:\n" + "".join(lines))
            try:
                yield
            finally:
                process.terminate()
                process.communicate(timeout=60)
        if process.returncode != 0:
            sys.exit(f"the server ended with status {process.returncode}")


def record(place):
    place.run("remote-pin-lab", "init", place.lab)
    configuration = place.lab / "server/server.yaml"
    # A purge would remove the revoked wallet a year later.
    text = LEFT_OUT.sub("", configuration.read_text())
    configuration.write_text(text.replace("purge:\n", "purge:\n  after: none\n"))
    with place.server():
        place.phone("setup", "android", "--code-written-down")
        place.phone("unlock", "android")
        place.phone("unlock", "android", pin=WRONG_PIN, status=WRONG)
        place.phone("setup", "ios", "--platform", "ios", "--code-written-down")
        place.phone("unlock", "ios")
        place.run("remote-pin-server", "backup", place.folder / "backup", "--lab", place.lab)
        revoked = next(one for one in place.admin("wallet", "list")["wallets"] if one["platform"] == "ios")
        place.admin("revoke", "wallet", revoked["wallet"])
        place.admin("deny-list", "add", "denied-code", status=NOT_LINKED)
        place.run("pin-load", "provision", "--lab", place.lab, "--wallets", 2, "--out", place.folder / "wallets")
        place.load("result.json")
    result = place.folder / "result.json"
    result.write_text(result.read_text().replace(f"{place.programs}/", "").replace(f"{place.folder}/", ""))
    with place.server():
        wallet = place.first_wallet()
        printed = {command: sorted(set(members(place.printed(command, wallet)))) for command in COMMANDS}
    (place.folder / "printed.json").write_text(json.dumps(printed, indent=1))
    described = place.lab / "lab.yaml"
    described.write_text(re.sub("^address: .*", "address: '127.0.0.1:0'", described.read_text(), flags=re.MULTILINE))


def members(value, path=""):
    """Yields the path and the type of each member; the elements of a list have one path."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from members(part, f"{path}.{name}")
    elif isinstance(value, list):
        for part in value:
            yield from members(part, f"{path}[]")
    else:
        yield path, "number" if type(value) in (int, float) else type(value).__name__


def check_printed(place, wallet):
    for command, printed in json.loads((place.folder / "printed.json").read_text()).items():
        if lost := {tuple(member) for member in printed} - set(members(place.printed(command, wallet))):
            sys.exit(f"{command} --json has lost {sorted(lost)}")


def check_served(place):
    """The store is served, and everything continues that it and the other files know."""
    place.verify_audit_log()
    with place.server():
        wallet = place.first_wallet()
        check_printed(place, wallet)
        failures = place.admin("wallet", "show", wallet)["pin"]["failures"]
        if failures != 1:
            sys.exit(f"the first wallet has {failures} wrong PINs, not 1")
        place.phone("unlock", "android")
        place.phone("unlock", "ios", status=REVOKED)
        place.load("new.json")
    place.run("pin-load", "report", place.folder / "result.json")
    place.run("pin-load", "compare", place.folder / "result.json", place.folder / "new.json")
    place.verify_audit_log()
    keys = place.run("remote-pin-server", "admin", "receipts", "keys", "--lab", place.lab).split()
    receipts = [json.loads(path.read_text())["last"] for path in sorted(place.folder.glob("*/app/receipts.json"))]
    place.run("remote-pin-server", "admin", "receipts", "verify", *(word for key in keys for word in ("--key", key)),
              text="".join(json.dumps({"receipt": receipt}) + "\n" for receipt in receipts))


def check_restored(place):
    """The backup is restored, with the revocation that only the audit log has."""
    for path in (place.lab / "server/data").glob("wallets.db*"):
        path.unlink()
    place.run("remote-pin-server", "restore", place.folder / "backup", "--lab", place.lab, "--yes")
    with place.server():
        place.phone("unlock", "android")
        place.phone("unlock", "ios", status=REVOKED)


def is_kept(entry):
    name = entry.name.rsplit("/", 1)[-1]
    if not (entry.isfile() or entry.isdir()) or name.endswith(("lock", ".log")) and name != "audit.log":
        return None
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry


def main(programs, *options):
    os.umask(0o077)
    programs = Path(programs).resolve()
    if options == ("--record",):
        with tempfile.TemporaryDirectory(prefix="rp") as folder:
            place = Place(folder, programs)
            record(place)
            version = place.run("remote-pin-server", "--version").split()[1]
            with tarfile.open(HERE / f"{version}.tar.xz", "w:xz") as archive:
                for path in sorted(place.folder.iterdir()):
                    archive.add(path, path.name, filter=is_kept)
        return f"Tests/Released/{version}.tar.xz"
    versions = re.findall(r"^## \[([0-9.]+)\]", CHANGELOG.read_text(), re.MULTILINE)
    for version in versions:
        path = HERE / f"{version}.tar.xz"
        if not path.exists():
            sys.exit(f"CHANGELOG.md has {version}, and {path} is missing: make it with --record before the release")
        for check in (check_served, check_restored):
            with tempfile.TemporaryDirectory(prefix="rp") as folder, tarfile.open(path) as archive:
                archive.extractall(folder)
                check(Place(folder, programs))
    return f"the files of {', '.join(versions)} are read" if versions else sys.exit("CHANGELOG.md names no version")


print(main(*sys.argv[1:]))

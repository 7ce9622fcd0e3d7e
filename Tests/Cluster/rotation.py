"""A rotation of the vault's keys, while wallets change servers at each visit and servers freeze or die.

A wallet announces tampering if it meets an older receipt key after a newer one. So the servers must switch in the same
moment, whatever each of them knows of the others.
"""
import shutil
import time

from faults import Faults
from processes import Failure, Process

WALLETS = 10
PIN = "135790"
# The wallet's own limits are longer; a frozen server must not hold up a phase.
LONGEST_VISIT = 8


class Wallet:
    """A phone with the program `wallet`, which visits the servers in turn."""

    def __init__(self, cluster, number, labs):
        self.cluster, self.labs, self.turn = cluster, labs, number
        self.home = cluster.folder / f"phone{number}"
        self.log = cluster.logs / f"phone{number}.log"
        self.pins = cluster.write(f"phone{number}.pins", f"{PIN}\n")
        self.process, self.since, self.done = None, 0, 0
        self.findings = []

    def start(self, *words):
        lab = self.labs[self.turn % len(self.labs)]
        self.turn += 1
        command = [self.cluster.program("wallet"), *words, "--home", self.home, "--lab", lab, "--json"]
        self.read = self.log.stat().st_size if self.log.exists() else 0
        environment = {"HOME": str(self.cluster.folder)}
        self.process = Process([*command, "--pin-file", self.pins], self.log, self.cluster.user, None, environment)
        self.since = time.monotonic()

    def step(self):
        """Begins the next visit when the last one has ended."""
        if self.process and self.process.is_running:
            if time.monotonic() - self.since > LONGEST_VISIT:
                self.process.stop(0)
            return
        if self.process:
            self.look()
        self.start("unlock")

    def look(self):
        """Reads the output of the last visit."""
        text = self.log.read_bytes()[self.read :].decode(errors="replace")
        if "tampering" in text:
            self.findings.append(text.strip())
        self.done += self.process.status == 0


class Rotation:
    def __init__(self, cluster, say):
        self.cluster, self.say, self.faults = cluster, say, Faults(cluster)
        labs = [self.lab(server) for server in cluster.servers]
        self.wallets = [Wallet(cluster, number, labs) for number in range(WALLETS)]

    def lab(self, server):
        """Makes a lab folder whose wallets use one server."""
        lab, folder = self.cluster.folder / "lab", self.cluster.make_folder(f"lab-{server.name}")
        lines = (lab / "lab.yaml").read_text().splitlines()
        values = dict(line.split(": ", 1) for line in lines if not line.startswith("#"))
        for name in ("ca_file", "authority", "clock_file", "server"):
            values[name] = f"'{lab / values[name].strip(chr(39))}'"
        values["address"] = f"'{server.place.address}:{server.port}'"
        text = "".join(f"{name}: {value}\n" for name, value in values.items())
        self.cluster.write(f"{folder.name}/lab.yaml", text)
        return folder

    def run(self):
        """Rotates once; returns the number of findings."""
        self.say(f"a rotation of the vault's keys, with {WALLETS} wallets that change servers")
        for wallet in self.wallets:
            wallet.start("setup", "--code-written-down")
            if wallet.process.wait(60) != 0:
                raise Failure(f"a wallet is not set up; see {wallet.log}")
            wallet.process = None
        self.visit("before the rotation", 1)
        owner, others = self.owner()
        with self.fault("server-freeze", others[0]):
            self.visit(f"only {owner.name} has the key", 1)
        self.copy(owner, others[0])
        with self.fault("server-kill", others[0]):
            self.visit("a server died before it read the key", 1)
        for other in others:
            self.copy(owner, other)
            self.wait_for_reload(other)
        self.visit("all have the key", 1)
        with self.fault("server-freeze", others[0]):
            self.rotate(owner)
            self.visit("the version is named while a server is frozen, which keeps its lease", 1, 3)
        with self.fault("server-freeze", others[1]):
            self.visit("a server is frozen until its lease has ended", 2, 9)
        with self.fault("server-kill", owner):
            self.visit("the server that named the version died", 2)
        self.visit("after the rotation", 3)
        findings = [finding for wallet in self.wallets for finding in wallet.findings]
        for finding in findings[:3]:
            self.say(f"a wallet announces tampering: {finding[-400:]}")
        visits = sum(wallet.done for wallet in self.wallets)
        self.say(f"{visits} visits succeeded; findings: {len(findings)}")
        return len(findings)

    def visit(self, phase, each, seconds=0):
        """Lets every wallet succeed this often, and go on for this time."""
        self.say(phase)
        goals = [wallet.done + each for wallet in self.wallets]
        start = time.monotonic()
        while time.monotonic() < start + seconds or any(w.done < goal for w, goal in zip(self.wallets, goals)):
            if time.monotonic() > start + 120:
                raise Failure(f"{phase}: wallets do not reach the servers; see {self.cluster.logs}")
            for wallet in self.wallets:
                wallet.step()
            time.sleep(0.02)

    def fault(self, name, server):
        return _Injected(self.faults, name, server.name)

    def command(self, server, *words):
        """Runs a command at a server; returns its status and its output."""
        log = self.cluster.logs / "rotation.log"
        start = log.stat().st_size if log.exists() else 0
        command = [self.cluster.program("remote-pin-server"), *words, "--socket", server.folder / "admin.sock"]
        process = Process(command, log, self.cluster.user, None, {"HOME": str(self.cluster.folder)})
        if process.wait(30) is None:
            raise Failure(f"{' '.join(words)} at {server.name} did not end")
        return process.status, log.read_bytes()[start:].decode(errors="replace")

    def owner(self):
        """Adds a version at the server with the maintenance; returns that server and the others."""
        for server in self.cluster.servers:
            status, text = self.command(server, "vault", "rotate", "--yes")
            if status == 77 and "these servers lack it" in text:
                return server, [other for other in self.cluster.servers if other is not server]
        raise Failure(f"no server rotates: {text.strip()}")

    def rotate(self, server):
        # The key is confirmed with each server's next renewal.
        end = time.monotonic() + 20
        while (result := self.command(server, "vault", "rotate", "--yes"))[0] != 0:
            if time.monotonic() > end:
                raise Failure(f"the version is not named: {result[1].strip()}")

    def copy(self, source, target):
        shutil.copy(source.folder / "vault.key", target.folder / "vault.key")
        self.cluster.own(target.folder / "vault.key", 0o600)

    def wait_for_reload(self, server):
        end = time.monotonic() + 30
        while self.command(server, "admin", "reload")[0] != 0:
            if time.monotonic() > end:
                raise Failure(f"{server.name} does not read its key file")


class _Injected:
    def __init__(self, faults, name, server):
        self.faults, self.name, self.server = faults, name, server

    def __enter__(self):
        self.faults.inject(self.name, self.server)

    def __exit__(self, *error):
        self.faults.heal(self.name)

#!/usr/bin/env python3
"""Measures the server's speed against its aims; each figure is a ratio from one run.

Server and load tool are separate processes on this machine and talk over loopback only. Every round measures both
sides of a ratio one after the other, and the median round counts: a slow spell of the machine slows both sides.
If the cost of one operation matters, the server runs on the first core with one serving thread and the load tool on
the others, so that the scheduler moves neither (--together gives both all cores).

    Benchmarks/aims.py                      measures all aims; keeps its labs and wallets in ./aims
    Benchmarks/aims.py checks threads       measures only these
    Benchmarks/aims.py --many 20000 wallets uses fewer than a million wallets, which take 8 to 30 minutes to register

Needs release builds of remote-pin-server, remote-pin-keys, pin-load and handshake-bench (`make bench` builds them),
openssl, SoftHSM and a C compiler; of Python only the standard library.
"""

import argparse
import contextlib
import hmac
import json
import os
import pathlib
import random
import signal
import secrets
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(HERE / "Tests/Faults"))

from bench import Bench as FaultBench  # noqa: E402
from module import INSTALLED, Module  # noqa: E402


def say(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def middle(rounds):
    """Returns the round with the median figure; a round is a figure and its details."""
    return sorted(rounds)[len(rounds) // 2]


def cpu(pid):
    """Returns the CPU time of all threads of a process in seconds, with nanosecond resolution."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def onto(cores):
    """Returns a function that pins a new process to these cores, or None if there are no cores to choose."""
    return (lambda: os.sched_setaffinity(0, cores)) if cores else None


def anonymous_kib(pid):
    """Returns a process's anonymous memory in KiB."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1])
    raise SystemExit("no RssAnon in /proc")


def fill(server, count):
    """Copies a wallet of a stopped server's store until it has `count` wallets; takes 20 µs for each.

    The copies have their own ids and their attempt records are authentic. Their sealed values are the original's: a
    start reads none of them, and no copy can be unlocked.
    """
    keys = (server / "vault.key").read_text().splitlines()
    root = next(bytes.fromhex(line.split()[1]) for line in keys if line.startswith("index "))
    extracted = hmac.digest(bytes(32), root, "sha256")
    attempts = hmac.digest(extracted, b"remote-pin/1 vault mac attempt-records\1", "sha256")
    key = hmac.digest(attempts, b"remote-pin/1 attempt records", "sha256")
    with contextlib.closing(sqlite3.connect(server / "data/wallets.db", isolation_level=None)) as store:
        store.execute("PRAGMA journal_mode = MEMORY")
        store.execute("PRAGMA synchronous = OFF")
        store.execute("PRAGMA cache_size = -131072")
        check = hmac.digest(key, b"remote-pin/1 check of a record key", "sha256")[:8]
        if store.execute("SELECT key_check FROM record_key").fetchone() != (check,):
            raise SystemExit("the attempt records' key is derived in another way than here")
        indexes = store.execute(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"
        ).fetchall()
        for name, _ in indexes:
            store.execute(f"DROP INDEX {name}")
        wallet = list(store.execute("SELECT * FROM wallets").fetchone())
        columns = [name for _, name, *_ in store.execute("PRAGMA table_info(wallets)")]
        unique = [place for place, name in enumerate(columns) if name in ("id", "hardware_key", "deletion_digest")]
        (record,) = store.execute("SELECT record FROM attempts").fetchone()
        attested = store.execute("SELECT attested FROM attestations").fetchone()
        last, present = store.execute("SELECT max(key), count(*) FROM wallets").fetchone()
        end = last + 1 + count - present
        for start in range(last + 1, end, 10_000):
            wallets, records, facts = [], [], []
            for number in range(start, min(start + 10_000, end)):
                wallet[0] = number
                for place in unique:
                    wallet[place] = wallet[place] and secrets.token_bytes(len(wallet[place]))
                wallets.append(tuple(wallet))
                mac = hmac.digest(key, wallet[columns.index("id")] + record[:-8], "sha256")[:8]
                records.append((number, record[:-8] + mac))
                facts.append((number, *attested))
            store.execute("BEGIN")
            store.executemany(f"INSERT INTO wallets VALUES ({', '.join('?' * len(wallet))})", wallets)
            store.executemany("INSERT INTO attempts (wallet, record) VALUES (?, ?)", records)
            store.executemany("INSERT INTO attestations (wallet, attested) VALUES (?, ?)", facts)
            store.execute("COMMIT")
        for _, sql in indexes:
            store.execute(sql)
        store.execute("PRAGMA journal_mode = WAL")


class Bench:
    def __init__(self, options):
        self.options = options
        self.folder = pathlib.Path(options.folder).resolve()
        self.folder.mkdir(exist_ok=True)
        cores = sorted(os.sched_getaffinity(0))
        apart = len(cores) > 1 and not options.together
        self.first, self.others = ({cores[0]}, set(cores[1:])) if apart else (None, None)

    def program(self, name):
        return str(pathlib.Path(self.options.programs) / name)

    def lab(self, name):
        path = self.folder / name
        if not path.exists():
            self.command(path, "init")
        return path

    def command(self, lab, *words):
        """Returns the output of a command of the server's program."""
        command = [self.program("remote-pin-server"), *words, "--lab", lab]
        return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout

    @contextlib.contextmanager
    def server(self, lab, apart=False, **settings):
        """Runs a server of this lab during the block; with apart, on the first core with one serving thread."""
        cores = self.first if apart else None
        if cores:
            settings["listen_threads"] = 1
        environment = dict(os.environ)
        environment.update({f"REMOTE_PIN_{key.upper()}": str(value) for key, value in settings.items()})
        command = [self.program("remote-pin-server"), "lab", "up", str(lab)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, env=environment, text=True, preexec_fn=onto(cores)
        )
        try:
            for line in process.stdout:
                if line.startswith("ready"):
                    break
            else:
                raise SystemExit(f"{lab}: the server ended")
            yield process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate()

    def wallets(self, lab, count, name=None):
        """Returns a file with `count` wallets registered at a running lab."""
        path = lab.with_name(f"{lab.name}-{name or count}.wallets")
        output = None if sys.stderr.isatty() else subprocess.DEVNULL
        command = ["provision", "--lab", lab, "--wallets", count, "--out", path, "--patience", "10m"]
        subprocess.run([self.program("pin-load"), *map(str, command)], check=True, stdout=output, stderr=output)
        return path

    def fill(self, lab, registered, count):
        """Registers wallets at a lab, unless it was filled earlier, and copies one until its store has `count`."""
        if (lab / "filled").exists():
            return
        with self.server(lab):
            self.wallets(lab, registered)
        fill(lab / "server", count)
        (lab / "filled").touch()

    def load(self, lab, wallets, *arguments, wait=True, apart=False):
        """Returns the report of `pin-load run`; with apart, it runs on the cores without the server."""
        command = [self.program("pin-load"), "run", "--lab", lab, "--wallets", wallets, "--json", *arguments]
        process = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=onto(self.others if apart else None),
        )
        return self.result(process) if wait else process

    @staticmethod
    def result(process):
        output, errors = process.communicate()
        if process.returncode not in (0, 130):
            raise SystemExit(f"pin-load: exit {process.returncode}\n{errors[-2000:]}")
        return json.loads(output)

    def totals(self, lab, wallets, *arguments, apart=True):
        """Returns the totals of a run of the usual length."""
        return self.load(lab, wallets, "--duration", f"{self.options.seconds}s", *arguments, apart=apart)["totals"]

    # MARK: - Each aim

    def checks(self):
        """warm checks: P-256 verification / server CPU of a check"""
        lab = self.lab("lab")
        rows = []
        with self.server(lab, apart=True):
            wallets = self.wallets(lab, 1000)
            for name, more in (("right", []), ("wrong", ["--max-wrong-per-wallet", 3])):
                rounds = []
                for _ in range(self.options.rounds):
                    totals = self.totals(
                        lab, wallets, "--connections", 64, "--warmup", "1s", "--mix", f"{name}=1", *more
                    )
                    cost, rate = totals["serverCPUMicrosPerOperation"], totals["ratePerSecond"]
                    rounds.append((totals["verificationShare"], cost, rate))
                share, cost, rate = middle(rounds)
                rows.append((f"warm checks, {name}, 64 connections", share, "≥ 0.55", f"{cost:.1f} µs, {rate:,.0f}/s"))
        return rows

    def unlocks(self):
        """unlocks: (bare handshake by openssl s_server + 2 verifications) / server CPU of an unlock"""
        lab = self.lab("lab")
        rounds = []
        with self.server(lab, apart=True):
            wallets = self.wallets(lab, 1000)
            for _ in range(self.options.rounds):
                handshake = self.bare_handshake(lab)
                totals = self.totals(lab, wallets, "--connections", 32, "--connection", "new", "--warmup", "1s")
                cost = totals["serverCPUMicrosPerOperation"]
                rounds.append(((handshake + 2 * totals["verificationMicros"]) / cost, cost, handshake))
        ratio, cost, handshake = middle(rounds)
        return [("unlock, saturated", ratio, "≥ 0.82", f"{cost:.0f} µs, bare handshake {handshake:.0f} µs")]

    def connections(self):
        """checks and unlocks with N connections / with 1: rates and medians"""
        lab = self.lab("lab")
        kinds = [
            (
                "check", [], {4: "≥ 2.4", 8: "≥ 3.4", 16: "≥ 3.5", 32: "≥ 4.2"},
                {2: "≤ 3", 4: "≤ 3", 8: "≤ 3", 16: "≤ 4.6"},
            ),
            ("unlock", ["--connection", "new"], {4: "≥ 2.2", 8: "≥ 3", 32: "≥ 4.5"}, {4: "≤ 1.8"}),
        ]
        rows = []
        with self.server(lab, apart=True):
            wallets = self.wallets(lab, 1000)
            for operation, use, rates, medians in kinds:
                rounds = {count: [] for count in sorted({*rates, *medians})}
                for _ in range(self.options.rounds):
                    figures = {}
                    for count in [1, *rounds]:
                        totals = self.totals(lab, wallets, "--connections", count, *use, "--warmup", "500ms")
                        median = totals["operations"][operation]["latencyMicros"]["p50"]
                        figures[count] = (totals["ratePerSecond"], median)
                    for count, found in rounds.items():
                        found.append((figures[count], figures[1]))
                for aims, name, place in ((rates, "per second", 0), (medians, "p50", 1)):
                    for count, aim in aims.items():
                        ratio, many, one = middle([(a[place] / b[place], a[place], b[place]) for a, b in rounds[count]])
                        unit = "/s" if place == 0 else " µs"
                        text = f"{many:,.0f}{unit}, {one:,.0f}{unit}"
                        rows.append((f"{operation} {name}, {count} / 1", ratio, aim, text))
        return rows

    def newcomers(self):
        """p99 of unlocks at a part of the highest rate / of bare handshakes at the same rate"""
        lab = self.lab("lab")
        parts = {0.5: "≤ 2", 0.75: "≤ 3"}
        rounds = {part: [] for part in parts}
        with self.server(lab, apart=True):
            wallets = self.wallets(lab, 1000)
            new = ["--connections", 32, "--connection", "new"]
            most = self.totals(lab, wallets, *new)["ratePerSecond"]
            for _ in range(self.options.rounds):
                for part, found in rounds.items():
                    rate = int(most * part)
                    bare, _ = self.bare_handshakes(lab, rate, 32)
                    totals = self.totals(lab, wallets, *new, "--rate", rate, "--warmup", "500ms")
                    unlock = self.p99(totals, "unlock")
                    found.append((unlock / bare, unlock, bare, rate))
        rows = []
        for part, aim in parts.items():
            ratio, unlock, bare, rate = middle(rounds[part])
            text = f"{unlock} µs, {bare} µs, {rate}/s"
            rows.append((f"unlock p99 / bare handshake's, at {part:.0%}", ratio, aim, text))
        return rows

    def answers(self):
        """answers of one wallet, right and wrong over 16 connections, that pin-load verifies per second of its CPU"""
        lab = self.lab("lab")
        rounds = []
        with self.server(lab, apart=True):
            hammered = self.wallets(lab, 1, "answers")
            for _ in range(self.options.rounds):
                totals = self.totals(
                    lab, hammered, "--pick", "single", "--connections", 16, "--mix", "right=20,wrong=1",
                    "--max-wrong-per-wallet", 2,
                )
                rounds.append((totals["count"] / totals["toolCPUSeconds"], totals["ratePerSecond"]))
        rate, arrived = middle(rounds)
        return [("answers of one wallet verified per second", rate, "≥ 5000", f"{arrived:,.0f} arrived per second")]

    @staticmethod
    def free_port():
        """Returns a free port below the range for outgoing connections, so that no other process is given it."""
        while True:
            port = random.randrange(20000, 32768)
            with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
                return port

    @staticmethod
    def await_port(port):
        """Returns once a server listens on the port."""
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                return
            time.sleep(0.05)
        raise SystemExit(f"no server listens on port {port}")

    def bare_handshake(self, lab):
        """Returns the CPU time of `openssl s_server` for one handshake with the lab's certificate, in µs."""
        with self.bare_server(lab) as (pid, port):
            before = cpu(pid)
            client = ["openssl", "s_time", "-connect", f"127.0.0.1:{port}", "-new", "-time", "3"]
            output = subprocess.run(client, capture_output=True, text=True, preexec_fn=onto(self.others)).stdout
            count = next(int(line.split()[0]) for line in output.splitlines() if "connections in" in line)
            return (cpu(pid) - before) / count * 1e6

    def bare_handshakes(self, lab, rate, connections):
        """Returns p99 and server CPU time of TLS handshakes by `openssl s_server` at a constant rate, in µs.

        The client is that of pin-load.
        """
        with self.bare_server(lab) as (pid, port):
            before = cpu(pid)
            words = [
                self.program("handshake-bench"), f"127.0.0.1:{port}", lab / "authority/tls-ca.pem", "localhost", rate,
                self.options.seconds, connections,
            ]
            output = subprocess.check_output(list(map(str, words)), text=True, preexec_fn=onto(self.others))
            _, p99, count = map(int, output.split())
            return p99, (cpu(pid) - before) / count * 1e6

    @contextlib.contextmanager
    def bare_server(self, lab):
        """Runs `openssl s_server` with the lab's certificate during the block, on the first core."""
        server = pathlib.Path(lab) / "server"
        port = self.free_port()
        command = [
            "openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert", server / "tls.pem", "-key",
            server / "tls.key", "-tls1_3", "-ciphersuites", "TLS_AES_128_GCM_SHA256", "-groups", "X25519",
            "-num_tickets", "0", "-no_cache", "-alpn", "remote-pin/1", "-quiet",
        ]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.PIPE, preexec_fn=onto(self.first), **quiet
        )
        try:
            self.await_port(port)
            yield process.pid, port
        finally:
            process.kill()
            process.wait()

    def wallet_numbers(self):
        """server CPU of a check and of an unlock with a thousand wallets / with a million; 8 checks for each wallet"""
        few, many = self.lab("lab"), self.lab(f"lab-{self.options.many}")
        used = min(self.options.many, self.options.registered)
        if used < self.options.many:
            self.fill(many, used, self.options.many)
        kinds = {
            "checks": ["--connections", 64, "--checks-per-wallet", 8, "--pick", "uniform"],
            "unlocks": ["--connections", 32, "--connection", "new", "--pick", "uniform"],
        }
        rounds = {kind: [] for kind in kinds}
        # Both servers are up, so that the two runs of a round follow each other directly.
        with self.server(few, apart=True), self.server(many, apart=True):
            files = [(few, self.wallets(few, self.options.few)), (many, self.wallets(many, used))]
            # Reads the index of the wallets into the cache, as on a server that has been up for a while.
            self.load(many, files[1][1], "--connections", 64, "--duration", "60s", "--checks-per-wallet", 2, apart=True)
            for kind in list(kinds) * self.options.rounds:
                shares, cost = [], []
                for lab, file in files:
                    totals = self.totals(lab, file, *kinds[kind], "--warmup", "1s")
                    # In units of a verification, since the two runs are not simultaneous.
                    shares.append(totals["verificationMicros"] / totals["serverCPUMicrosPerOperation"])
                    cost.append(totals["serverCPUMicrosPerOperation"])
                rounds[kind].append((shares[1] / shares[0], *cost))
        rows = []
        for kind in kinds:
            ratio, few, many = middle(rounds[kind])
            plain = middle([(few / many,) for _, few, many in rounds[kind]])[0]
            text = f"{few:.0f} µs, {many:.0f} µs; by µs alone {plain:.2f}"
            rows.append((f"{kind}, {self.options.few:,} wallets / {self.options.many:,}", ratio, "≥ 0.9", text))
        return rows

    def idle(self):
        """anonymous memory of the server for each idle connection with a session"""
        return [("idle connection, KiB", self.idle_kib(self.lab("lab")), "≤ 22", "2,000 with a session")]

    def idle_kib(self, lab, **settings):
        """Returns the growth of the server's anonymous memory for each of 2,000 idle connections with a session."""
        with self.server(lab, **settings) as pid:
            wallets = self.wallets(lab, 3000)
            # Visits every wallet once, so that the database's page cache, which is bounded, does not grow later.
            self.load(
                lab, wallets, "--connections", 64, "--duration", "6s", "--checks-per-wallet", 1, "--pick", "uniform"
            )
            before = anonymous_kib(pid)
            run = self.load(
                lab, wallets, "--connections", 1, "--think", "1s", "--idle-connections", 2000, "--duration", "5s",
                wait=False,
            )
            after = 0
            while run.poll() is None:
                after = max(after, anonymous_kib(pid))
                time.sleep(0.2)
            self.result(run)
        return (after - before) / 2000

    def module(self):
        """roots in a module (SoftHSM) / in the key file: CPU, rates, memory; with 5 ms for each code; while it hangs"""
        if not INSTALLED:
            raise SystemExit("SoftHSM is not installed")
        with contextlib.ExitStack() as stack:
            root = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(dir=self.folder)))
            programs = FaultBench(self.options.programs, root)
            stack.callback(programs.end_all)
            labs, daemons, settings = {}, {}, {}
            for name, plan in (("file", None), ("module", ""), ("slow", "C_Sign 1- latency 5")):
                labs[name], settings[name] = self.lab(root / name), {}
                if plan is not None:
                    module = Module(programs, root / f"{name}-token", plan)
                    module.must("make", "key-2")
                    module.must("make", "history-2")
                    # As many sessions as the server has connections, and a limit that is not reached.
                    daemons[name] = module.serve("--sessions", 30, "--limit", 20_000, before=onto(self.others))
                    settings[name] = {"vault_socket": module.socket, "vault_connections": 30}
                with self.server(labs[name], **settings[name]):
                    self.command(labs[name], "vault", "rotate", "--yes")
            with contextlib.ExitStack() as servers:
                for name, lab in labs.items():
                    servers.enter_context(self.server(lab, apart=True, **settings[name]))
                yield from self.module_speed(labs, daemons["module"])
                yield self.module_hang(labs["module"], daemons["module"])
            rounds = []
            for _ in range(self.options.rounds):
                file, module = (self.idle_kib(labs[name], **settings[name]) for name in ("file", "module"))
                rounds.append((module - file, module, file))
        more, module, file = middle(rounds)
        yield "idle connection, KiB: module − key file", more, "≤ 0.3", f"{module:.2f}, {file:.2f}"

    def module_speed(self, labs, daemon):
        """Returns the rows of checks and unlocks with roots in the key file, in the module, and in the slow module."""
        wallets = {name: self.wallets(lab, 3000) for name, lab in labs.items()}
        new = ["--connections", 64, "--connection", "new"]
        steady = int(self.totals(labs["file"], wallets["file"], *new)["ratePerSecond"] / 3)
        kinds = {
            "check": (["module", "file"], ["--connections", 64, "--warmup", "1s"]),
            "unlock": (["module", "file", "slow"], new),
            "steady": (["slow", "module"], [*new, "--rate", steady]),
        }
        rounds = {kind: [] for kind in kinds}
        daemons = []
        for number in range(self.options.rounds):
            for kind, (names, arguments) in kinds.items():
                found = {}
                # The order alternates, too.
                for name in names[:: (-1) ** number]:
                    before = cpu(daemon.pid)
                    totals = self.totals(labs[name], wallets[name], *arguments)
                    if (kind, name) == ("unlock", "module"):
                        daemons.append(((cpu(daemon.pid) - before) / totals["count"] * 1e6, totals["ratePerSecond"]))
                    found[name] = totals
                rounds[kind].append([found[name] for name in names])
        rows = []
        for kind, aim in (("check", "± 0.02"), ("unlock", "≤ 1.05")):
            costs = [[totals["serverCPUMicrosPerOperation"] for totals in found[:2]] for found in rounds[kind]]
            ratio, module, file = middle([(a / b, a, b) for a, b in costs])
            rows.append((f"{kind}: server CPU, module / key file", ratio, aim, f"{module:.0f} µs, {file:.0f} µs"))
        used, rate = middle(daemons)
        rows.append(("unlock: CPU of the module's daemon, µs", used, "≤ 60", f"{rate:,.0f}/s"))
        rates = [[totals["ratePerSecond"] for totals in found[1:]] for found in rounds["unlock"]]
        ratio, file, slow = middle([(slow / min(file, 6000), file, slow) for file, slow in rates])
        rows.append(("unlocks/s, 5 ms / key file, 6,000 at most", ratio, "≥ 0.9", f"{slow:,.0f}/s, {file:,.0f}/s"))
        times = [[self.p99(totals, "unlock") / 1000 for totals in found] for found in rounds["steady"]]
        more, slow, module = middle([(a - b, a, b) for a, b in times])
        rows.append(("unlock: p99, 5 ms − without, ms", more, "≤ 7", f"{slow:.1f} ms, {module:.1f} ms, {steady}/s"))
        return rows

    def module_hang(self, lab, daemon):
        """Returns the row of checks on open sessions; new sessions meanwhile let the server notice the hang."""
        wallets, others = self.wallets(lab, 3000), self.wallets(lab, 200, "new")
        seconds, rounds = self.options.seconds, []
        for _ in range(self.options.rounds):
            new = self.load(
                lab, others, "--connection", "new", "--rate", 5, "--duration", "1h", wait=False, apart=True
            )
            run = self.load(
                lab, wallets, "--connections", 64, "--warmup", "2s", "--duration", f"{2 * seconds}s", wait=False,
                apart=True,
            )
            lines = (line for line in run.stderr if "on average" in line)
            for _ in zip(range(seconds), lines):
                pass
            daemon.send_signal(signal.SIGSTOP)
            intervals = self.result(run)["intervals"]
            daemon.send_signal(signal.SIGCONT)
            new.send_signal(signal.SIGINT)
            refused = self.result(new)["totals"]["failures"]
            # Those without a check in this second have none.
            checks = [interval["operations"].get("check") for interval in intervals]
            counts = [check["latencyMicros"]["count"] if check else 0 for check in checks]
            before, during = sum(counts[-2 * seconds : -seconds]), sum(counts[-seconds:])
            rounds.append((during / before, during / seconds, before / seconds, refused))
            # The server notices the return within two seconds.
            time.sleep(3)
        ratio, during, before, refused = middle(rounds)
        text = f"{during:,.0f}/s, {before:,.0f}/s; {refused} new sessions refused"
        return ("checks/s, module hangs / before", ratio, "≥ 0.98", text)

    def crowd(self):
        """p99 of other wallets with 10,000 idle connections and a hammered wallet / with neither"""
        lab = self.lab("lab")
        rounds = []
        with self.server(lab, limits_connections=20000, limits_connections_per_source=0):
            wallets, hammered = self.wallets(lab, 11000), self.wallets(lab, 1, "hammered")
            # Long enough for a p99 of more than a few calls.
            seconds = max(20, self.options.seconds)
            steady = ["--connections", 32, "--rate", 200, "--warmup", "2s", "--duration", f"{seconds}s"]
            for _ in range(self.options.rounds):
                quiet = self.p99(self.load(lab, wallets, *steady)["totals"])
                hammer = self.load(
                    lab, hammered, "--pick", "single", "--connections", 16, "--duration",
                    f"{seconds + 60}s", wait=False,
                )
                crowded = self.p99(self.load(lab, wallets, *steady, "--idle-connections", 10000)["totals"])
                hammer.send_signal(signal.SIGINT)
                self.result(hammer)
                rounds.append((crowded / quiet, crowded, quiet))
        ratio, crowded, quiet = middle(rounds)
        return [("p99 beside 10,000 idle, one hammered / quiet", ratio, "≤ 2", f"{crowded} µs, {quiet} µs")]

    @staticmethod
    def p99(totals, operation="check"):
        return totals["operations"][operation]["latencyMicros"]["p99"]

    def start(self):
        """time of a start with many wallets until /readyz answers with 200, and its memory"""
        lab = self.lab(f"start-{self.options.started}")
        self.fill(lab, 1, self.options.started)
        rounds = []
        for _ in range(self.options.rounds):
            port = self.free_port()
            before = time.perf_counter()
            with self.server(lab, observation_listen=f"127.0.0.1:{port}") as pid:
                self.await_readiness(port)
                ready = time.perf_counter() - before
                status = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
                peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / 1024
                rounds.append((ready, peak))
        ready, peak = middle(rounds)
        size = (lab / "server/data/wallets.db").stat().st_size / 1e9
        return [
            (f"ready with {self.options.started:,} wallets, s", ready, "≤ 2", f"{size:.1f} GB"),
            ("the same, MiB at most", peak, "≤ 300", "resident, files included"),
        ]

    @staticmethod
    def await_readiness(port):
        """Returns once the server that observes on this port reports that it is ready."""
        for _ in range(6000):
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz"):
                return
            time.sleep(0.01)
        raise SystemExit("the server is not ready")

    def admin(self, lab, *arguments):
        """Returns the answer of a running server to an operator's command."""
        return json.loads(self.command(lab, "admin", *arguments, "--json"))

    def chores(self):
        """p99 of checks while backup, rotation, purge and sweep run / quiet"""
        lab = self.lab("chores")
        rounds = []
        day = {"purge_after": "1d", "enrollment_unopened_lifetime": "1d", "session_lifetime": "1d"}
        with self.server(lab, apart=True, limits_connections=30_000, limits_connections_per_source=0, **day):
            wallets = self.wallets(lab, 15_000)
            # Opens a session for each of them, since the sweep removes wallets that never had one.
            self.load(lab, wallets, "--connections", 1, "--idle-connections", 14_999, "--duration", "1s", apart=True)
            steady = ["--connections", 32, "--rate", 1000, "--warmup", "2s", "--pick", "uniform"]
            for number in range(self.options.rounds):
                ended, unopened = self.due_tomorrow(lab, number)
                # Their day ends during the run with the chores. Its sessions, which begin now, last for another day.
                self.admin(lab, "clock", "advance", "23h")
                quiet = self.p99(self.totals(lab, wallets, *steady))
                if not ended | unopened <= self.listed(lab):
                    raise SystemExit("purge and sweep removed wallets before the measurement")
                run = self.load(
                    lab, wallets, *steady, "--duration", f"{self.options.seconds + 14}s", wait=False, apart=True
                )
                time.sleep(3)
                self.admin(lab, "clock", "advance", "2h")
                backup = self.folder / "chores.backup"
                backup.unlink(missing_ok=True)
                self.command(lab, "vault", "rotate", "--yes")
                self.command(lab, "backup", backup)
                busy = self.p99(self.result(run)["totals"])
                if left := (ended | unopened) & self.listed(lab):
                    raise SystemExit(f"purge and sweep left {len(left)} wallets that were due")
                rounds.append((busy / quiet, busy, quiet, len(ended), len(unopened)))
        ratio, busy, quiet, purged, swept = middle(rounds)
        text = f"{busy} µs, {quiet} µs; 15,000 wallets resealed and copied, {purged:,} purged, {swept:,} swept"
        return [("check p99 beside chores / quiet", ratio, "≤ 2", text)]

    def due_tomorrow(self, lab, number):
        """Registers wallets that the purge and the sweep remove a day later; returns the ids of both kinds."""
        known = self.listed(lab)
        path = self.wallets(lab, 3000, f"due-{number}-{time.time_ns()}")
        path.unlink(missing_ok=True)
        new = sorted(self.listed(lab) - known)
        ended, unopened = new[:1000], new[1000:]
        self.admin(lab, "revoke", "wallet", *ended)
        return set(ended), set(unopened)

    def listed(self, lab):
        return {entry["wallet"] for entry in self.admin(lab, "wallet", "list", "--limit", 1_000_000)["wallets"]}

    def threads(self):
        """server CPU of a check with 2 threads / with 1, at half of what one can do"""
        lab = self.lab("lab")
        with self.server(lab, listen_threads=1):
            wallets = self.wallets(lab, 1000)
            most = self.totals(lab, wallets, "--connections", 64, apart=False)["ratePerSecond"]
        rate = int(most / 2)
        ratios = []
        for _ in range(self.options.rounds):
            shares = []
            for threads in (1, 2):
                with self.server(lab, listen_threads=threads):
                    totals = self.totals(
                        lab, wallets, "--connections", 64, "--rate", rate, "--warmup", "1s", apart=False
                    )
                    shares.append(totals["verificationShare"])
            ratios.append(shares[0] / shares[1])
        return [("two threads / one", middle(ratios), "≤ 1.2", f"at {rate:,}/s")]

    def soak(self):
        """resident memory and descriptors of a server at 250 checks per second, at the end / after a minute"""
        lab = self.lab("soak")
        with self.server(lab) as pid:
            wallets = self.wallets(lab, 1000)
            plan = ["--profile", "soak", "--warmup", "0s", "--stages"]
            self.load(lab, wallets, *plan, "60s:=250/s")
            before = self.descriptors(pid)
            run = self.load(lab, wallets, *plan, f"{self.options.soaked}s:=250/s")
            after = self.descriptors(pid)
        sizes = [interval["gauges"].get("serverResidentBytes") for interval in run["intervals"]]
        sizes = [size / 1024 / 1024 for size in sizes if size]
        few = min(10, len(sizes) // 2)
        first, last = sum(sizes[:few]) / few, sum(sizes[-few:]) / few
        label = f"memory after {self.options.soaked:,} s at 250/s / after 60 s"
        checks, rate = run["totals"]["count"], run["totals"]["ratePerSecond"]
        text = f"{last:.1f} MiB, {first:.1f} MiB; {checks:,} checks, {rate:.0f}/s"
        return [
            (label, last / first, "≤ 1.01", text),
            ("descriptors that it left", after - before, "≤ 0", f"{before} without a connection"),
        ]

    @staticmethod
    def descriptors(pid):
        """Returns the number of descriptors of a process once its connections are closed."""
        counts = []
        for _ in range(50):
            counts.append(len(os.listdir(f"/proc/{pid}/fd")))
            time.sleep(0.1)
        return min(counts)


AIMS = {
    "checks": Bench.checks, "unlocks": Bench.unlocks, "connections": Bench.connections, "newcomers": Bench.newcomers,
    "answers": Bench.answers, "wallets": Bench.wallet_numbers, "idle": Bench.idle, "module": Bench.module,
    "crowd": Bench.crowd, "threads": Bench.threads, "start": Bench.start, "chores": Bench.chores, "soak": Bench.soak,
}


def parser_of(description, aims):
    """Returns a parser of arguments that takes the names of aims."""
    parser = argparse.ArgumentParser(
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="\n".join(f"  {name:12}{work.__doc__}" for name, work in aims.items()),
    )
    parser.add_argument("aims", nargs="*", choices=[[], *aims], metavar="AIM", help="aims to measure (all)")
    return parser


def report(bench, names, aims):
    """Measures the aims with these names, or all, and prints each figure beside its bound."""
    for name in names or aims:
        say(f"{aims[name].__doc__} …")
        for label, figure, aim, detail in aims[name](bench):
            say("")
            sign, bound = aim[0], float(aim[1:])
            holds = {"≥": figure >= bound, "≤": figure <= bound, "±": abs(figure - 1) <= bound}[sign]
            print(f"{label:48}{figure:8.2f}  aim {aim:7}{'' if holds else 'not reached':13}{detail}", flush=True)


def main():
    parser = parser_of(__doc__, AIMS)
    parser.add_argument("--programs", default=HERE / ".build/release", help="folder of the programs (.build/release)")
    parser.add_argument("--folder", default="aims", help="folder for labs and wallets, on the disk to measure (./aims)")
    parser.add_argument("--few", type=int, default=1_000, help="wallets in the small store (1,000)")
    parser.add_argument(
        "--many", type=int, default=1_000_000,
        help="wallets in the large store (1,000,000)",
    )
    parser.add_argument(
        "--registered", type=int, default=1_000_000,
        help="wallets of the large store that are registered and get checks (1,000,000); the others are copies",
    )
    parser.add_argument("--started", type=int, default=10_000_000, help="wallets for the start (10,000,000: 18 GB)")
    parser.add_argument("--seconds", type=int, default=6, help="length of each run (6)")
    parser.add_argument("--soaked", type=int, default=600, help="seconds of the soak (600)")
    parser.add_argument("--together", action="store_true", help="let server and load tool share all cores")
    parser.add_argument("--rounds", type=int, default=5, help="rounds; the median counts (5)")
    options = parser.parse_args()
    report(Bench(options), options.aims, AIMS)


if __name__ == "__main__":
    main()

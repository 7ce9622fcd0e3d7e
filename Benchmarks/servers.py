#!/usr/bin/env python3
"""Measures servers on a PostgreSQL cluster against their aims; both sides of each ratio in one run.

Makes the cluster of Tests/Cluster: three nodes of PostgreSQL under Patroni with synchronous standbys, and servers.
The servers run on the first core with one serving thread each, the databases and pin-load on the others.

    Benchmarks/servers.py                        measures all aims
    Benchmarks/servers.py checks revocations     measures only these
    Benchmarks/servers.py --rounds 9 --seconds 6 takes longer runs

Needs release builds of remote-pin-server, remote-pin-lab and pin-load, and the packages of `make cluster`.
"""

import argparse
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(HERE / "Benchmarks"), str(HERE / "Tests/Cluster")]

from aims import Bench, cpu, middle, parser_of, report, say  # noqa: E402
from cluster import Cluster, Server  # noqa: E402
from network import network  # noqa: E402
from processes import Failure, guarded, kill_descendants  # noqa: E402
from run import add_options, complete  # noqa: E402


def keep_on(pid, cores):
    """Moves all threads of a process, and those that they start, to these cores."""
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(task.name), cores)


class SingleDatabase:
    """One PostgreSQL without standbys, which has a database for each store."""

    SETTINGS = {
        "listen_addresses": "", "shared_buffers": "2GB", "max_wal_size": "4GB", "maintenance_work_mem": "1GB",
    }

    def __init__(self, cluster):
        self.cluster, self.folder = cluster, cluster.make_folder("single")
        programs, data = cluster.options.postgresql, self.folder / "data"
        cluster.run([f"{programs}/initdb", "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-locale"])
        settings = {**self.SETTINGS, "unix_socket_directories": self.folder}
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        cluster.spawn("single", [f"{programs}/postgres", "-D", data, *words], cluster.network.machine)
        cluster.wait_for("a single PostgreSQL", self.answers, 30)
        self.sql("create role remote_pin login")

    def answers(self):
        try:
            return self.sql("select 1")
        except Failure:
            return None

    def sql(self, *statements, database="postgres"):
        words = [word for statement in statements for word in ("-c", statement)]
        address = ["-h", self.folder, "-U", "postgres", "-d", database]
        return self.cluster.run(["psql", "-qtA", "-v", "ON_ERROR_STOP=1", *address, *words], seconds=3600)

    def server(self, name):
        """Makes a store, and returns its server, which is not started."""
        self.sql(f"create database {name} owner remote_pin")
        store = {
            "REMOTE_PIN_STORE_KIND": "postgresql",
            "REMOTE_PIN_STORE_ADDRESS": f"host={self.folder} user=remote_pin dbname={name}",
            "REMOTE_PIN_CLUSTER_DURABILITY": "local",
        }
        init = [self.cluster.program("remote-pin-server"), "store", "init", self.cluster.folder / "lab"]
        self.cluster.run(init, environment=store)
        return Server(self.cluster, name, store)

    def copy_wallet(self, database, numbers):
        """Adds copies of a wallet with their own ids and codes. No copy can be unlocked."""
        same = "version, pin_key_id, identity, unlock_share, presence_share, deletion_code, recovery_mac"
        id = "substr(sha256(int8send(number)), 1, 16)"
        series = f"generate_series({numbers.start}::bigint, {numbers.stop - 1}) number"
        self.sql(
            f"insert into remote_pin.wallets select {id}, record"
            f" from {series}, (select record from remote_pin.wallets limit 1) model",
            f"insert into remote_pin.wallet_values"
            f" (id, {same}, registered_at, attested, hardware_key, deletion_digest)"
            f" select {id}, {same}, registered_at, attested,"
            " sha256(int8send(number) || 'key'), sha256(int8send(number) || 'code')"
            f" from {series}, (select * from remote_pin.wallet_values limit 1) model",
            database=database,
        )

    INDEXES = [
        ("wallets", "wallets_pkey", "primary key (id)"),
        ("wallet_values", "wallet_values_id_key", "unique (id)"),
        ("wallet_values", "wallet_values_deletion_digest_key", "unique (deletion_digest)"),
    ]

    def drop_indexes(self, database):
        """Drops the indexes that a copy would have to fill in random order."""
        drops = [f"alter table remote_pin.{table} drop constraint {name}" for table, name, _ in self.INDEXES]
        self.sql(*drops, database=database)

    def make_indexes(self, database):
        adds = [f"alter table remote_pin.{table} add constraint {name} {of}" for table, name, of in self.INDEXES]
        self.sql(*adds, "vacuum analyze", "checkpoint", database=database)


class Measures:
    def __init__(self, cluster, options):
        self.cluster, self.options = cluster, options
        cores = sorted(os.sched_getaffinity(0))
        self.first, self.others = {cores[0]}, set(cores[1:]) or {cores[0]}
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="remote-pin-bench."))
        self.embedded = Bench(argparse.Namespace(folder=self.folder, programs=options.programs, together=False))
        for node in cluster.nodes:
            for pid in node.database_processes():
                keep_on(pid, self.others)
        for server in cluster.servers:
            keep_on(server.process.pid, self.first)
        os.sched_setaffinity(0, self.others)

    # Load

    def address(self, server):
        return f"{server.place.address}:{server.port}"

    def target(self, address):
        authority = self.cluster.folder / "lab/authority"
        return ["--address", address, "--server-name", "localhost", "--ca", authority / "tls-ca.pem"]

    def wallets(self, name, count, server=None):
        """Returns a file with this number of wallets, registered at a server, by default the cluster's first."""
        path = self.folder / f"{name}.wallets"
        if not path.exists():
            target = self.target(self.address(server or self.cluster.servers[0]))
            command = [self.embedded.program("pin-load"), "provision", *target, "--wallets", count, "--out", path]
            command += ["--authority", self.cluster.folder / "lab/authority"]
            subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return path

    def start(self, address, wallets, connections, *more, seconds=None):
        """Starts `pin-load run` against an address."""
        command = [self.embedded.program("pin-load"), "run", *self.target(address), "--wallets", wallets, "--json"]
        command += ["--connections", connections, "--duration", f"{seconds or self.options.seconds}s", *more]
        return subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
        )

    def load(self, *arguments, **more):
        return self.totals(self.start(*arguments, **more))

    @staticmethod
    def totals(run):
        """Returns the totals of a run. The cluster's signal handler takes the exit statuses, so none is checked."""
        output, errors = run.communicate()
        if not output:
            raise Failure(f"pin-load: {errors[-2000:]}")
        return json.loads(output)["totals"]

    def database_cpu(self, node):
        total = 0
        for pid in node.database_processes():
            try:
                total += cpu(pid)
            except OSError:
                pass
        return total

    # The aims

    def checks(self):
        """CPU of a check at 64 connections: the server's with PostgreSQL / SQLite, and the databases'"""
        server, primary = self.cluster.servers[0], self.cluster.primary()
        standby = self.cluster.standbys()[0]
        wallets, rounds, database = self.wallets("checks", 500), [], []
        lab = self.embedded.lab("lab")
        with self.embedded.server(lab, apart=True) as other:
            few = self.embedded.wallets(lab, 500)
            for _ in range(self.options.rounds):
                pids = (server.process.pid, other)
                costs = []
                for pid, run in zip(pids, (self.postgresql_run(server, wallets), self.sqlite_run(lab, few))):
                    before = cpu(pid), self.database_cpu(primary), self.database_cpu(standby)
                    count = run()["count"]
                    after = cpu(pid), self.database_cpu(primary), self.database_cpu(standby)
                    costs.append([(b - a) / count * 1e6 for a, b in zip(before, after)])
                (own, of_primary, of_standby), (embedded, _, _) = costs
                rounds.append((own / embedded, own, embedded))
                database.append((of_primary + of_standby, of_primary, of_standby))
        ratio, own, embedded = middle(rounds)
        both, of_primary, of_standby = middle(database)
        return [
            ("server CPU of a check, PostgreSQL / SQLite", ratio, "≤ 1.10", f"{own:.0f} µs, {embedded:.0f} µs"),
            ("database CPU of a check, µs", both, "≤ 25", f"primary {of_primary:.0f}, standby {of_standby:.0f}"),
        ]

    def postgresql_run(self, server, wallets):
        return lambda: self.load(self.address(server), wallets, 64)

    def sqlite_run(self, lab, wallets):
        arguments = ["--connections", 64, "--duration", f"{self.options.seconds}s"]
        return lambda: self.embedded.load(lab, wallets, *arguments, apart=True)["totals"]

    def servers(self):
        """checks per second: two servers with one core between them / one, and with wallets moving between them"""
        one, two = self.cluster.servers[:2]
        wallets = [self.wallets(f"half-{number}", 250) for number in (1, 2)]
        fixed, moving = [], []
        for _ in range(self.options.rounds):
            alone = self.rate([one, one], wallets)
            together = self.rate([one, two], wallets)
            fixed.append((together / alone, together, alone))
            # Each connection goes through all wallets, so a wallet's checks alternate between the servers.
            move = ["--checks-per-wallet", 1, "--pick", "uniform"]
            alone = self.rate([one, one], wallets, *move)
            together = self.rate([one, two], wallets, *move)
            moving.append((together / alone, together, alone))
        rows = []
        kinds = [("two servers on a core / one", fixed, "≥ 0.95"), ("the same, moving", moving, "≥ 0.85")]
        for label, rounds, aim in kinds:
            ratio, together, alone = middle(rounds)
            rows.append((f"checks per second, {label}", ratio, aim, f"{together:,.0f}/s, {alone:,.0f}/s"))
        return rows

    def rate(self, servers, wallets, *more):
        runs = [self.start(self.address(server), file, 32, *more) for server, file in zip(servers, wallets)]
        return sum(self.totals(run)["ratePerSecond"] for run in runs)

    def begin(self, server):
        """Starts a server on the servers' core."""
        server.start()
        Bench.await_port(server.port)
        keep_on(server.process.pid, self.first)

    def wallet_numbers(self):
        """checks and unlocks per second with ten million wallets / with ten thousand; no standbys"""
        few, many, registered = self.options.few, self.options.many, self.options.few
        database = SingleDatabase(self.cluster)
        servers = [database.server(name) for name in ("few", "many")]
        for server in servers:
            self.begin(server)
        files = [self.wallets(server.name, registered, server) for server in servers]
        say(f"copying {many - registered:,} wallets …")
        servers[1].process.stop()
        database.drop_indexes("many")
        database.copy_wallet("many", range(registered, many))
        database.make_indexes("many")
        self.begin(servers[1])
        rows = []
        kinds = [
            ("checks", 64, ["--checks-per-wallet", 8, "--pick", "uniform"]),
            ("unlocks", 32, ["--connection", "new", "--pick", "uniform"]),
        ]
        for kind, connections, more in kinds:
            rounds = []
            for _ in range(self.options.rounds + 1):
                rates = [
                    self.load(self.address(server), file, connections, "--warmup", "1s", *more)["ratePerSecond"]
                    for server, file in zip(servers, files)
                ]
                rounds.append((rates[1] / rates[0], *rates))
            # The first round reads pages and plans.
            ratio, small, large = middle(rounds[1:])
            text = f"{large:,.0f}/s, {small:,.0f}/s"
            rows.append((f"{kind}, {many:,} wallets / {few:,}", ratio, "≥ 0.9", text))
        return rows

    def revocations(self):
        """p99 of a revocation until it returns, idle and beside 64 connections at full load"""
        count = self.options.revocations
        self.wallets("load", 500)
        before = self.listed()
        self.wallets("ended", 2 * count)
        ended = sorted(self.listed() - before)
        rows = []
        for label, aim, load in (("idle", "≤ 50", False), ("at full load", "≤ 250", True)):
            run = None
            if load:
                address = f"127.0.0.1:{self.cluster.balancer_port}"
                run = self.start(address, self.folder / "load.wallets", 64, seconds=600)
                time.sleep(2)
            times = []
            for number, wallet in enumerate([ended.pop() for _ in range(count)]):
                server = self.cluster.servers[number % len(self.cluster.servers)]
                start = time.perf_counter()
                self.command(server, "revoke wallet", wallets=[wallet])
                times.append((time.perf_counter() - start) * 1000)
                time.sleep(0.02)
            if run:
                run.terminate()
                run.communicate()
            times.sort()
            text = f"p50 {times[count // 2]:.0f}, at most {times[-1]:.0f}; {len(self.cluster.servers)} servers"
            rows.append((f"revocation, {label}: p99 in ms", times[count * 99 // 100], aim, text))
        return rows

    def listed(self):
        sock = self.cluster.servers[0].folder / "admin.sock"
        words = ["admin", "wallet", "list", "--limit", "1000000", "--json", "--socket", str(sock)]
        listed = json.loads(subprocess.check_output([self.embedded.program("remote-pin-server"), *words]))
        return {entry["wallet"] for entry in listed["wallets"]}

    def command(self, server, name, **arguments):
        """Gives a server an operator's command over its admin socket, and returns the reply."""
        with socket.socket(socket.AF_UNIX) as stream:
            stream.connect(str(server.folder / "admin.sock"))
            frame = json.dumps({"version": 1, "id": 1, "command": name, "arguments": arguments}).encode()
            stream.sendall(len(frame).to_bytes(4, "big") + frame)
            with stream.makefile("rb") as reader:
                reply = json.loads(reader.read(int.from_bytes(reader.read(4), "big")))
        if "failure" in reply:
            raise Failure(f"{name}: {reply['failure']}")
        return reply["reply"]


AIMS = {
    "checks": Measures.checks, "servers": Measures.servers, "revocations": Measures.revocations,
    "wallets": Measures.wallet_numbers,
}


def measure(options):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="remote-pin-cluster."))
    folder.chmod(0o700)
    cluster = Cluster(folder, network(folder / "network.log", False), options, say)
    try:
        cluster.start()
        for server in cluster.servers:
            Bench.await_port(server.port)
        report(Measures(cluster, options), options.aims, AIMS)
    finally:
        kill_descendants()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def main():
    parser = parser_of(__doc__, AIMS)
    parser.add_argument("--seconds", type=int, default=4, help="length of each run (4)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds; the median counts (5)")
    parser.add_argument("--few", type=int, default=10_000, help="wallets in the small store (10,000)")
    parser.add_argument(
        "--many", type=int, default=10_000_000,
        help="wallets in the large store (10,000,000: 25 GB); those beyond the small store's are copies without checks",
    )
    parser.add_argument("--revocations", type=int, default=300, help="revocations, idle and at load (300)")
    add_options(parser)
    parser.set_defaults(programs=str(HERE / ".build/release"))
    options = parser.parse_args()
    options.settings = {"REMOTE_PIN_LISTEN_THREADS": "1"}
    complete(options)
    sys.exit(guarded(lambda: measure(options)))


if __name__ == "__main__":
    main()

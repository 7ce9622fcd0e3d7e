"""One machine of the cluster: a member of etcd, and PostgreSQL under Patroni."""
import base64
import json
import pathlib
import signal
import time
import urllib.error
import urllib.request

from processes import descendants, run, send

DATABASE = ROLE = "remote_pin"
FAKE_CLOCK = next(pathlib.Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)

# The first three are PostgreSQL's defaults, written down because the promises depend on them.
PARAMETERS = {
    "synchronous_commit": "on",
    "fsync": True,
    "full_page_writes": True,
    "wal_level": "replica",
    "max_connections": 60,
    "shared_buffers": "64MB",
    "max_wal_size": "512MB",
    "wal_keep_size": "128MB",
    "password_encryption": "scram-sha-256",
    "log_line_prefix": "%m [%p] %q%u ",
    # Ends the connections of clients that vanished, while they wait for a standby.
    "tcp_keepalives_idle": 5,
    "tcp_keepalives_interval": 2,
    "tcp_keepalives_count": 3,
    "tcp_user_timeout": "10s",
    "wal_sender_timeout": "10s",
    "wal_receiver_timeout": "10s",
}


class Node:
    """One machine: a member of etcd, and PostgreSQL under Patroni."""

    def __init__(self, cluster, name):
        self.cluster, self.name = cluster, name
        self.place = cluster.network.place()
        self.folder = cluster.make_folder(name)
        self.etcd_port, self.peer_port = self.place.port(2379), self.place.port(2380)
        self.api_port, self.port = self.place.port(8008), self.place.port(5432)
        self.etcd = self.patroni = None
        # Moves the clock of this node's PostgreSQL, if libfaketime is installed.
        self.clock = self.folder / "clock"

    @property
    def peer_url(self):
        return f"http://{self.place.address}:{self.peer_port}"

    @property
    def etcd_url(self):
        return f"http://{self.place.address}:{self.etcd_port}"

    def start_etcd(self):
        members = ",".join(f"{node.name}={node.peer_url}" for node in self.cluster.nodes)
        self.etcd = self.cluster.spawn(
            f"{self.name}/etcd",
            [
                "etcd", "--name", self.name, "--data-dir", self.folder / "etcd", "--initial-cluster", members,
                "--listen-peer-urls", self.peer_url, "--initial-advertise-peer-urls", self.peer_url,
                "--listen-client-urls", self.etcd_url, "--advertise-client-urls", self.etcd_url,
                "--initial-cluster-token", self.cluster.folder.name, "--logger", "zap", "--log-level", "warn",
            ],
            self.place,
        )  # fmt: skip

    def start(self):
        """Starts Patroni, which starts PostgreSQL."""
        self.patroni = self.cluster.spawn(
            f"{self.name}/patroni", [self.cluster.options.patroni, self.folder / "patroni.yml"], self.place
        )

    def configure(self):
        options, cluster, address = self.cluster.options, self.cluster, self.place.address
        programs = pathlib.Path(options.postgresql)
        self.cluster.write(f"{self.name}/clock", "+0")
        if FAKE_CLOCK:
            programs = self._programs_with_clock(programs)
        tls = {"sslmode": "verify-full", "sslrootcert": str(cluster.folder / "ca.pem")}
        settings = {
            "scope": "remote-pin",
            "name": self.name,
            "restapi": {
                "listen": f"{address}:{self.api_port}",
                "connect_address": f"{address}:{self.api_port}",
                "authentication": {"username": "patroni", "password": cluster.secret["patroni"]},
            },
            "etcd3": {"hosts": [f"{node.place.address}:{node.etcd_port}" for node in cluster.nodes]},
            "bootstrap": {
                "dcs": {
                    "ttl": options.ttl,
                    "loop_wait": options.loop_wait,
                    "retry_timeout": options.retry,
                    "maximum_lag_on_failover": 0,
                    "synchronous_mode": options.synchronous,
                    "synchronous_mode_strict": options.strict,
                    "postgresql": {"use_pg_rewind": True, "parameters": PARAMETERS},
                },
                "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, "data-checksums"],
            },
            "postgresql": {
                "listen": f"{address}:{self.port}",
                "connect_address": f"{address}:{self.port}",
                "data_dir": str(self.folder / "data"),
                "bin_dir": str(programs),
                "pgpass": str(self.folder / "pgpass"),
                "use_unix_socket": True,
                "authentication": {
                    "superuser": {"username": "postgres", "password": cluster.secret["postgres"], **tls},
                    "replication": {"username": "replicator", "password": cluster.secret["replicator"], **tls},
                    "rewind": {"username": "rewind", "password": cluster.secret["rewind"], **tls},
                },
                "parameters": {
                    # Files in the node's folder, which a killed node leaves behind in /dev/shm otherwise.
                    "dynamic_shared_memory_type": "mmap",
                    "unix_socket_directories": str(self.folder),
                    "ssl": True,
                    "ssl_cert_file": str(self.folder / "tls.pem"),
                    "ssl_key_file": str(self.folder / "tls.key"),
                },
                "pg_hba": [
                    # The folder of the socket belongs to the user of the cluster alone.
                    "local all postgres trust",
                    "hostssl replication replicator 0.0.0.0/0 scram-sha-256",
                    "hostssl all postgres,rewind 0.0.0.0/0 scram-sha-256",
                    f"hostssl {DATABASE} {ROLE} 0.0.0.0/0 scram-sha-256",
                ],
            },
            "watchdog": {"mode": "off"},
        }
        # JSON is YAML.
        self.cluster.write(f"{self.name}/patroni.yml", json.dumps(settings, indent=2))

    def _programs_with_clock(self, programs):
        """Returns a folder in which `postgres` runs under libfaketime, and the other programs are linked."""
        folder = self.cluster.make_folder(f"{self.name}/bin")
        for program in programs.iterdir():
            if program.name != "postgres":
                (folder / program.name).symlink_to(program)
        self.cluster.write(
            f"{self.name}/bin/postgres",
            f"#!/bin/sh\nexport LD_PRELOAD={FAKE_CLOCK} FAKETIME_TIMESTAMP_FILE={self.clock}\n"
            f'export FAKETIME_CACHE_DURATION=1 FAKETIME_DONT_FAKE_MONOTONIC=1\nexec {programs}/postgres "$@"\n',
        )
        (folder / "postgres").chmod(0o755)
        return folder

    # State

    def ask(self, path, body=None, seconds=0.7):
        """Calls Patroni's interface and returns status and body; None for both if it does not answer."""
        key = base64.b64encode(f"patroni:{self.cluster.secret['patroni']}".encode()).decode()
        request = urllib.request.Request(
            f"http://{self.place.address}:{self.api_port}{path}",
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Basic {key}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=seconds) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return None, None

    def sql(self, statement, database="postgres"):
        """Runs a statement as the superuser, over the socket in the node's folder."""
        command = ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-p", self.port]
        command += ["-U", "postgres", "-d", database, "-c", statement]
        log, environment = self.cluster.logs / f"{self.name}-psql.log", {"HOME": str(self.cluster.folder)}
        return run(command, log, user=self.cluster.user, environment=environment).strip()

    def postmaster(self):
        """Returns the id of PostgreSQL's first process, or None."""
        try:
            pid = int((self.folder / "data/postmaster.pid").read_text().split()[0])
            own = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError, IndexError):
            return None
        return pid if str(self.folder / "data").encode() in own else None

    def database_processes(self, title=""):
        """Returns the ids of PostgreSQL's processes whose titles contain a word, the postmaster first."""
        pid = self.postmaster()
        if pid is None:
            return []
        found = []
        for process in [pid, *descendants(pid)]:
            try:
                if title in pathlib.Path(f"/proc/{process}/cmdline").read_text(errors="replace"):
                    found.append(process)
            except OSError:
                pass
        return found

    # Faults

    def signal(self, number):
        """Sends a signal to Patroni and PostgreSQL: to Patroni first, which restarts PostgreSQL."""
        for pid in (self.patroni.tree() if self.patroni else []) + self.database_processes():
            send(pid, number)

    def kill(self):
        self.signal(signal.SIGKILL)
        end = time.monotonic() + 5
        while (self.postmaster() or self.patroni.is_running) and time.monotonic() < end:
            time.sleep(0.02)

"""A lab server that is damaged on purpose, and the wallets that find out what it lost.

The wallets' PINs and histories are pin-load's: it knows how many wrong PINs each wallet had, and reports an answer
that a correct server never gives as a violation. A guess that was given back is such an answer.
"""
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

WALLETS = 24
# A log line of these levels names the fault for an operator.
LOUD = re.compile(r" (warning|error|critical) ")

WAL_HEADER, WAL_FRAME = 32, 24 + 4096


class Outcome:
    """What a server did after a fault, as one phrase for the table."""

    def __init__(self, text, is_bad=False, detail=""):
        self.text, self.is_bad, self.detail = text, is_bad, detail


def wal_commits(path):
    """Returns the offsets behind the commit frames of the log's live part: those with the salts of its header."""
    content, ends = path.read_bytes(), []
    for start in range(WAL_HEADER, len(content) - WAL_FRAME + 1, WAL_FRAME):
        if content[start + 8 : start + 16] != content[16:24]:
            break
        if content[start + 4 : start + 8] != bytes(4):
            ends.append(start + WAL_FRAME)
    return ends


class Server:
    """A running server and its output."""

    def __init__(self, bench, folder, arguments=(), command=None, before=None, environment=None):
        self.bench, self.folder = bench, folder
        self.path = folder / "server.out"
        command = command or [bench.program("remote-pin-server"), "serve", str(folder / "lab")]
        with open(self.path, "w") as output:
            self.process = subprocess.Popen(
                [*command, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                preexec_fn=before,
                env={**os.environ, "REMOTE_PIN_LOG_FILE": "none", **(environment or {})},
            )
        bench.running.append(self.process)
        self.is_ready = self.waits_for("ready on ")

    def waits_for(self, word, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if word in self.output:
                return True
            if self.process.poll() is not None:
                return word in self.output
            time.sleep(0.02)
        return False

    @property
    def output(self):
        return self.path.read_text(errors="replace")

    @property
    def is_loud(self):
        return bool(LOUD.search(self.output))

    def ends(self, signal_number=signal.SIGTERM):
        """Sends a signal and returns the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal_number)
        return self.process.wait(60)


class Bench:
    def __init__(self, programs, root):
        self.programs, self.root = pathlib.Path(programs).resolve(), pathlib.Path(root)
        self.running, self.trials = [], 0
        self.template = {}

    def program(self, name):
        return str(self.programs / name)

    def run(self, name, *arguments, timeout=60, **more):
        """Runs a program to its end; returns its status and output."""
        done = subprocess.run(
            [self.program(name), *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
            **more,
        )
        return done.returncode, done.stdout.decode(errors="replace")

    def must(self, name, *arguments, **more):
        status, output = self.run(name, *arguments, **more)
        if status != 0:
            raise SystemExit(f"{name} {' '.join(map(str, arguments))} failed with {status}:\n{output}")
        return output

    def end_all(self):
        for process in self.running:
            if process.poll() is None:
                process.kill()
                process.wait()

    # Labs

    def make_templates(self):
        """Makes a lab whose wallets have wrong PINs on record: once after an orderly stop, once after SIGKILL."""
        first = self.root / "template"
        first.mkdir()
        self.must("remote-pin-server", "init", "--lab", first / "lab")
        server = Server(self, first)
        # A backup from before the guesses.
        self.must("pin-load", "provision", "--lab", first / "lab", "--wallets", WALLETS, "--out", first / "fleet")
        self.load(first, "wrong=1,right=1", "2s")
        self.must("remote-pin-server", "backup", first / "old.backup", "--lab", first / "lab")
        self.load(first, "wrong=1", "3s")
        # The faults of the log need two commits in it. The server may just have copied it into the database.
        while len(wal_commits(self.data(first, "wallets.db-wal"))) < 2:
            more = first / f"more-{time.time_ns()}"
            self.must("pin-load", "provision", "--lab", first / "lab", "--wallets", 1, "--out", more)
        # The wrong PINs of each wallet, which no fault may lower without a word.
        self.known = self.failures(first)
        server.ends(signal.SIGKILL)
        self.template["killed"] = first
        stopped = self.root / "template-stopped"
        self.copy_tree(first, stopped)
        server = Server(self, stopped)
        server.ends()
        self.template["stopped"] = stopped
        return self

    def load(self, folder, mix, duration, *more, connections=8):
        return self.run(
            "pin-load", "run", "--lab", folder / "lab", "--wallets", folder / "fleet", "--connections", connections,
            "--connection", "new", "--mix", mix, "--duration", duration, *more,
        )

    def copy(self, kind):
        """Returns a new copy of a template, which a trial may damage."""
        self.trials += 1
        folder = self.root / f"trial-{self.trials}"
        self.copy_tree(self.template[kind], folder)
        return folder

    @staticmethod
    def copy_tree(source, target):
        """Copies a folder without the sockets that a killed server left."""
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.sock"))

    def data(self, folder, name):
        return folder / "lab/server/data" / name

    # Judgement

    def failures(self, folder):
        """Returns each wallet's recorded number of wrong PINs, or None if the server cannot list them.

        A damaged record has no number. The server judges no PIN of that wallet, so nothing is given back.
        """
        status, output = self.run("remote-pin-server", "admin", "wallet", "list", "--json", "--lab", folder / "lab")
        if status != 0:
            return None
        return {wallet["wallet"]: wallet.get("failures", math.inf) for wallet in json.loads(output)["wallets"]}

    def shown_failures(self, folder, wallet):
        """Returns the number for one wallet, which the server finds by its index.

        The list has another id if the id in the row is damaged. A wallet that is not found gets no guess.
        """
        command = ["admin", "wallet", "show", wallet, "--json", "--lab", folder / "lab"]
        status, output = self.run("remote-pin-server", *command)
        return json.loads(output).get("pin", {}).get("failures", math.inf) if status == 0 else math.inf

    def judge(self, folder, known=None, environment=None):
        """Starts the damaged server and lets every wallet check what it remembers.

        `known` has the wrong PINs on record of each wallet if the wallets were used since the template was made.
        """
        known = self.known if known is None else known
        server = Server(self, folder, environment=environment)
        if not server.is_ready:
            status = server.ends(signal.SIGKILL) if server.process.poll() is None else server.process.returncode
            if status in (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGILL, -signal.SIGTRAP):
                return Outcome("CRASHED", True, server.output)
            return Outcome(f"not started, status {status}", False, server.output)
        found = self.failures(folder)
        if found is not None:
            found |= {name: self.shown_failures(folder, name) for name in known.keys() - found.keys()}
        status, output = self.load(folder, "right=1", "1500ms", "--pick", "uniform")
        refused = re.findall(r"^ +(internal|unavailable|authentication-failed) +\d+", output, re.M)
        # The first wallet was refused, and pin-load tried no other one.
        refused += re.findall(r"the server refused: ([a-z-]+)", output)
        is_loud, log = server.is_loud, server.output
        end = server.ends()
        detail = output + log
        lower = {name for name, count in known.items() if found is not None and found.get(name, -1) < count}
        is_lost = (status == 99 and "violations 0" not in output) or lower
        if is_lost and not is_loud:
            return Outcome("GUESSES GIVEN BACK", True, f"{len(lower)} of {len(known)} wallets\n{detail}")
        if is_lost:
            return Outcome("guesses given back, logged", False, f"{len(lower)} wallets\n{detail}")
        if end not in (0, 79):
            return Outcome(f"ended with {end}", end < 0, detail)
        if end == 79:
            return Outcome("ended while serving, status 79", False, detail)
        if refused:
            return Outcome(f"{refused[0]} for some wallets" + (", logged" if is_loud else ""), not is_loud, detail)
        return Outcome("served" + (" with a warning" if is_loud else ""), False, detail)


def flip(path, offset):
    """Inverts one bit of one byte."""
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 0x10]))


def temporary_folder():
    return tempfile.TemporaryDirectory(prefix="remote-pin-faults.", dir=os.environ.get("TMPDIR", "/tmp"))

"""Fixtures for tests of a remote-PIN wallet.

    def test_wrong_pin(phone, clock):
        phone.set_up("024791")
        phone.launch()
        assert phone.enter("111222") == "wrong-pin"
        assert phone.screen["values"]["attemptsLeft"] == 3

Each test has a separate lab with a real server, which ends with the test. A failed test shows the screens of its
phones and the server's log.
"""
import json, os, pathlib, queue, re, shutil, subprocess, tempfile, threading, time
import pytest

TIME_LIMIT = 60  # Seconds; a longer wait means that a program hangs.


class Refused(Exception):
    """A command that the wallet refused; it changed nothing. `line` is the wallet's answer."""

    def __init__(self, command, line):
        super().__init__(f"{command}: {line['message']}")
        self.line = line


class Output:
    """The lines of a program, read in a thread so that a test can wait for one with a time limit."""

    def __init__(self, stream):
        self.lines, self.queue = [], queue.Queue()
        threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream):
        for line in stream:
            self.lines.append(line)
            self.queue.put(line)
        self.queue.put(None)

    def next(self, limit=TIME_LIMIT):
        """The next line; None at the end of the output."""
        try:
            return self.queue.get(timeout=limit)
        except queue.Empty:
            raise TimeoutError(f"no line in {limit} seconds") from None


class Server:
    """The server of a lab. `lab` is the lab's folder."""

    def __init__(self, programs, folder, settings):
        self.lab, self._program = str(folder / "lab"), str(programs / "remote-pin-server")
        self._environment = dict(os.environ, REMOTE_PIN_LOG_FILE="none", REMOTE_PIN_ADMIN_SOCKET=str(folder / "admin"))
        for name, value in settings.items():
            text = f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)
            text = text.lower() if isinstance(value, bool) else text
            self._environment["REMOTE_PIN_" + name.upper().replace(".", "_").replace("-", "_")] = text
        self._process, self.log = None, []

    def start(self):
        """Starts the server and waits until it is ready; creates the lab at the first start."""
        assert self._process is None, "the server is running"
        self._process = subprocess.Popen(
            [self._program, "lab", "up", self.lab, "--follow-input"], env=self._environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output = Output(self._process.stdout)
        self.log.append(output.lines)
        while True:
            line = output.next()
            if line is None:
                raise RuntimeError("the server did not start:\n" + "".join(output.lines))
            if "ready on " in line:
                return

    def stop(self):
        """Shuts the server down."""
        self._end(lambda process: process.terminate())

    def kill(self):
        """Kills the server's process."""
        self._end(lambda process: process.kill())

    def _end(self, send):
        assert self._process is not None, "the server is not running"
        process, self._process = self._process, None
        send(process)
        try:
            process.wait(TIME_LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdin.close()

    def wallets(self):
        """The server's records of all wallets, the oldest first."""
        return self.admin("wallet", "list")["wallets"]

    def admin(self, *words):
        """Sends a command of an operator, such as admin("revoke", "solution"); returns the JSON answer."""
        run = subprocess.run([self._program, "admin", *words, "--lab", self.lab, "--json"], env=self._environment,
                             capture_output=True, text=True, timeout=TIME_LIMIT)
        if run.returncode != 0:
            raise RuntimeError(f"admin {' '.join(words)}: {run.stdout}{run.stderr}")
        return json.loads(run.stdout) if run.stdout.strip() else None

    @property
    def text(self):
        return "".join(line for lines in self.log for line in lines)


class Clock:
    """The clock of the lab, for server and phones."""

    def __init__(self, server):
        self._server = server

    def advance(self, duration):
        """Lets time pass: advance("61s"), advance("5m")."""
        self._server.admin("clock", "advance", duration)


# Options of `wallet drive`; any other name is a key of the device profile (docs/devices.md).
OPTIONS = {"platform", "profile", "language", "record", "biometric_hook", "key_hook", "issuer_hook"}


class Phone:
    """A simulated phone, controlled by `wallet drive`. Every method returns the outcome, such as "wrong-pin"."""

    def __init__(self, programs, server, home, options):
        command = [str(programs / "wallet"), "drive", "--lab", server.lab, "--home", str(home)]
        for name, value in options.items():
            if name in OPTIONS:
                command += ["--" + name.replace("_", "-"), str(value)]
            else:
                # JSON is YAML, also for false, lists and texts that look like numbers.
                command += ["--set", f"{name}={json.dumps(value)}"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._output = Output(self._process.stdout)
        self.screen, self.steps, self.events = None, [], []
        while self._take()["type"] != "event":
            pass

    def _take(self, limit=TIME_LIMIT):
        text = self._output.next(limit)
        if text is None:
            raise RuntimeError("the wallet ended")
        line = json.loads(text)
        if line["type"] == "screen":
            self.screen = line
        elif line["type"] == "step":
            self.steps.append(line["step"])
        elif line["type"] == "event":
            self.events.append(line)
        elif line["type"] == "result" and line["outcome"] != "done":
            raise RuntimeError(f"the wallet ended: {line}")
        return line

    def do(self, command, **fields):
        """Sends a command of `wallet drive`; raises Refused if the wallet refuses it."""
        self._process.stdin.write(json.dumps({"do": command, **fields}) + "\n")
        self._process.stdin.flush()
        while True:
            line = self._take()
            if line["type"] == "refused":
                raise Refused(command, line)
            if line["type"] == "done":
                return line["outcome"]

    def launch(self, url=None):
        return self.do("launch", **({"url": url} if url else {}))

    def resume(self, url=None):
        return self.do("resume", **({"url": url} if url else {}))

    def background(self):
        return self.do("background")

    def end(self):
        """Ends the process of the app, as the operating system does."""
        return self.do("end")

    def tap(self, *actions):
        """Selects actions, one after the other; returns the outcome of the last."""
        outcomes = [self.do("tap", action=action) for action in actions]
        return outcomes[-1]

    def enter(self, pin):
        return self.do("enter", pin=pin)

    def biometric(self, present="match"):
        return self.do("biometric", present=present)

    def link(self, url, source="app"):
        return self.do("link", url=url, source=source)

    def change(self, **properties):
        """Changes the phone: change(network="off", conditions=["lose-next-reply", "delay:500"])."""
        return self.do("device", set=properties)

    def set_up(self, pin):
        """Sets up a wallet without biometrics, from the first launch to the unlock; returns its deletion code."""
        self.launch()
        self.tap("skip", "next")
        self.enter(pin)
        self.enter(pin)
        if self.step == "UC2.1/1.3":
            self.tap("skip")
        self.tap("next")
        code = self.screen["values"]["deletionCode"]
        self.tap("written-down")
        return code

    @property
    def step(self):
        """The step of the screen, such as UC2.3/1.3 (docs/screens.md)."""
        return self.screen["step"] if self.screen else None

    def wait_for(self, step, limit=TIME_LIMIT):
        """Waits until the app shows this screen, as after the end of a block."""
        end = time.monotonic() + limit
        while self.step != step:
            self._take(max(0.01, end - time.monotonic()))

    def close(self):
        self._process.stdin.close()
        try:
            self._process.wait(TIME_LIMIT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @property
    def text(self):
        """The screen for the report of a failed test."""
        if not self.screen:
            return "no screen yet"
        names = ("step", "kind", "title", "message", "values")
        lines = [f"{name}: {self.screen[name]}" for name in names if self.screen[name]]
        lines.append("actions: " + ", ".join(action["id"] for action in self.screen["actions"]))
        return "\n".join(lines + ["steps: " + " ".join(self.steps)])


def pytest_addoption(parser):
    parser.addini("remote_pin_programs", "The folder of wallet and remote-pin-server; by default they are in PATH.")
    parser.addoption("--remote-pin-programs", metavar="DIR", help="the folder of wallet and remote-pin-server")


def pytest_configure(config):
    marker = "remote_pin(server={}, device={}): settings of the test's server and first phone"
    config.addinivalue_line("markers", marker)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    world = item.stash.get(WORLD, None)
    if report.failed and world:
        for name, phone in world.phones.items():
            report.sections.append((f"phone {name}", phone.text))
        report.sections.append(("server log", world.server.text))


class World:
    """The server and the phones of one test."""

    def __init__(self, programs, folder, marker):
        settings = marker.kwargs if marker else {}
        unknown = set(settings) - {"server", "device"}
        if unknown:
            raise pytest.UsageError(f"remote_pin has no argument {sorted(unknown)[0]}; it has server and device")
        self.programs, self.folder, self.phones = programs, folder, {}
        self.device = settings.get("device", {})
        self.server = Server(programs, folder, settings.get("server", {}))

    def phone(self, name="first", **device):
        """The phone with this name; creates it if the name is new: phone("second", platform="ios", passcode=False).

        The names are those of a device profile (docs/devices.md), as for change().
        """
        if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}", name):
            raise ValueError(f"{name!r} is not a name of letters, digits, '-', '_' and '.', not first, at most 64")
        if name not in self.phones:
            if (self.folder / name).exists():
                raise ValueError(f"the lab uses the name {name}; choose another one for the phone")
            options = {**self.device, **device} if name == "first" else device
            self.phones[name] = Phone(self.programs, self.server, self.folder / name, options)
        elif device:
            raise ValueError(f"the phone {name} exists; change it with change()")
        return self.phones[name]

    def close(self):
        for phone in self.phones.values():
            phone.close()
        if self.server._process:
            self.server.kill()


WORLD = pytest.StashKey()


@pytest.fixture
def lab(request):
    """The world of this test: a lab with its server and phones."""
    folder = request.config.getoption("--remote-pin-programs") or request.config.getini("remote_pin_programs")
    wallet = shutil.which("wallet", path=folder or None)
    if wallet is None:
        where = folder or "PATH; set the ini-option remote_pin_programs"
        raise pytest.UsageError(f"the program wallet is not in {where}")
    # A short path: the socket of the server must fit into 107 bytes.
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rp-"))
    try:
        world = World(pathlib.Path(wallet).resolve().parent, folder, request.node.get_closest_marker("remote_pin"))
        request.node.stash[WORLD] = world
        try:
            world.server.start()
            yield world
        finally:
            world.close()
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def server(lab):
    """The server: stop(), kill(), start(), admin()."""
    return lab.server


@pytest.fixture
def clock(lab):
    """The lab's clock: advance("61s")."""
    return Clock(lab.server)


@pytest.fixture
def phones(lab):
    """Phones by name: phones("second", platform="ios")."""
    return lab.phone


@pytest.fixture
def phone(lab):
    """The first phone."""
    return lab.phone()

#!/usr/bin/env python3
"""Measures whether the time of an answer tells a right PIN from a wrong one, or a known wallet id from an unknown one.

    Benchmarks/timing.py PROGRAMS              PROGRAMS holds remote-pin-server and remote-pin-lab, as .build/release
    Benchmarks/timing.py PROGRAMS --count 500  measures 500 answers of each kind instead of 20,000
    Benchmarks/timing.py PROGRAMS --phone ios  the proofs are assertions of App Attest instead of signatures
    Benchmarks/timing.py PROGRAMS --database postgresql://tester@localhost/empty
                                               stores the wallets in this empty PostgreSQL database

Starts a server on a lab in a temporary folder and talks to it over loopback with the Python client of Tests/interop,
one call at a time. Right and wrong PINs alternate in random order on warm sessions; each proof of a device for a
known or an unknown id needs a separate connection. Prints the AUC: the probability that an answer of the first kind
took longer than one of the second, 0.5 if the times tell nothing. The control splits the answers of one kind at
random. Exits with 1 if an AUC differs from 0.5 by more than --limit.

Run it on a release build and a quiet machine: load hides differences. Needs the packages of
Tests/interop/requirements.txt.
"""

import argparse
import gc
import math
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "Tests/interop"))

from client import Lab  # noqa: E402
from lab_device import AndroidPhone, ApplePhone  # noqa: E402

PHONES = {"android": AndroidPhone, "ios": ApplePhone}
RIGHT, WRONG = "024791", "135802"
PAIRS_OF_A_SESSION = 1_000
READY_LIMIT = 30


def timed(connection, **call):
    """Makes a call and returns the time from its last byte to the first of the answer, in seconds, and the answer."""
    gc.disable()
    call_id = connection.send(**call)
    start = time.perf_counter()
    header = connection.tls.recv(4)
    elapsed = time.perf_counter() - start
    gc.enable()
    rest = connection.read(4 - len(header))
    size = int.from_bytes(header + rest, "big")
    response = connection.parsed(connection.read(size))
    if response.id != call_id:
        raise SystemExit("the answer belongs to another call")
    return elapsed, response


def pin_times(lab, wallet, count):
    """Returns the times of right and of wrong PINs."""
    times = {RIGHT: [], WRONG: []}
    expected = {RIGHT: "check_pin", WRONG: "wrong"}
    done = 0
    while done < count:
        with lab.greeted() as connection:
            wallet.open_session(connection)
            counter = 1
            for _ in range(min(PAIRS_OF_A_SESSION, count - done)):
                for pin in random.sample([RIGHT, WRONG], 2):
                    call = wallet.instruct_call(connection, counter, pin)
                    elapsed, response = timed(connection, instruct=call)
                    verdict = response.instruct.WhichOneof("result")
                    if verdict != expected[pin]:
                        raise SystemExit(f"the answer to this PIN was {verdict or response.error}")
                    times[pin].append(elapsed)
                    counter += 1
                done += 1
    return times[RIGHT], times[WRONG]


def id_times(lab, wallet, stranger, count):
    """Returns the times of false proofs for a known and for unknown wallet ids."""
    times = {True: [], False: []}
    for _ in range(count):
        for known in random.sample([True, False], 2):
            stranger.id = wallet.id if known else os.urandom(16)
            with lab.greeted() as connection:
                elapsed, response = timed(connection, open_session=stranger.session_call(connection))
                if response.WhichOneof("result") != "error":
                    raise SystemExit("a false proof was accepted")
                times[known].append(elapsed)
    return times[True], times[False]


def auc(first, second):
    """Returns the probability that a value of `first` exceeds one of `second`, and the p-value.

    The p-value is that of the two-sided Mann–Whitney test.
    """
    order = sorted([(value, 0) for value in first] + [(value, 1) for value in second])
    ranks, place = 0.0, 0
    while place < len(order):
        end = place
        while end < len(order) and order[end][0] == order[place][0]:
            end += 1
        rank = (place + 1 + end) / 2
        ranks += rank * sum(1 for _, kind in order[place:end] if kind == 0)
        place = end
    m, n = len(first), len(second)
    area = (ranks - m * (m + 1) / 2) / (m * n)
    deviation = math.sqrt((m + n + 1) / (12 * m * n))
    return area, math.erfc(abs(area - 0.5) / deviation / math.sqrt(2))


def report(name, first, second, limit):
    """Prints one comparison and its control; returns whether the AUC is within the limit."""
    area, chance = auc(first, second)
    halves = random.sample(second, len(second))
    control, control_chance = auc(halves[::2], halves[1::2])
    medians = " / ".join(f"{statistics.median(times) * 1e6:.0f}" for times in (first, second))
    print(f"{name}: AUC {area:.3f} (p = {chance:.2g}), medians {medians} µs, {len(first)} and {len(second)} answers; "
          f"control {control:.3f} (p = {control_chance:.2g})")
    return abs(area - 0.5) <= limit


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", metavar="PROGRAMS", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=20_000, help="answers of each kind (20000)")
    parser.add_argument("--phone", choices=PHONES, default="android", help="platform of the wallets (android)")
    parser.add_argument("--database", metavar="URI", help="an empty PostgreSQL database instead of SQLite")
    parser.add_argument("--limit", type=float, default=0.02, help="accepted difference of an AUC from 0.5 (0.02)")
    arguments = parser.parse_args()
    program = arguments.programs.resolve() / "remote-pin-server"
    with tempfile.TemporaryDirectory(prefix="remote-pin-timing.") as work:
        folder = pathlib.Path(work) / "lab"
        subprocess.run([program, "init", "--lab", folder], check=True, stdout=subprocess.DEVNULL)
        # One source makes all calls.
        environment = {
            **os.environ,
            "REMOTE_PIN_LIMITS_FRAMES_PER_SOURCE": "0",
            "REMOTE_PIN_LIMITS_ENROLLMENTS_PER_SOURCE": "0",
        }
        if arguments.database:
            environment |= {
                "REMOTE_PIN_STORE_KIND": "postgresql",
                "REMOTE_PIN_STORE_ADDRESS": arguments.database,
                "REMOTE_PIN_CLUSTER_DURABILITY": "local",
            }
            subprocess.run([program, "store", "init", folder], env=environment, check=True)
        with open(pathlib.Path(work) / "server.log", "w+") as log:
            server = subprocess.Popen([program, "lab", "up", folder], env=environment, stdout=log, stderr=log)
            try:
                deadline = time.monotonic() + READY_LIMIT
                while "ready" not in pathlib.Path(log.name).read_text():
                    if server.poll() is not None or time.monotonic() > deadline:
                        raise SystemExit("the server did not start:\n" + pathlib.Path(log.name).read_text())
                    time.sleep(0.1)
                return measure(Lab(folder, PHONES[arguments.phone]), arguments)
            finally:
                server.send_signal(signal.SIGTERM)
                server.wait()


def measure(lab, arguments):
    wallet, stranger = lab.wallet(), lab.wallet()
    for one in (wallet, stranger):
        with lab.greeted() as connection:
            one.enroll(connection, RIGHT)
            one.open_session(connection)
    # Warms the server up.
    pin_times(lab, wallet, 50)
    id_times(lab, wallet, stranger, 50)
    results = [
        report("right and wrong PIN", *pin_times(lab, wallet, arguments.count), arguments.limit),
        report("known and unknown wallet id", *id_times(lab, wallet, stranger, arguments.count), arguments.limit),
    ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())

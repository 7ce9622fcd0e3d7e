#!/usr/bin/env python3
"""Runs the tests that find more the longer they run, and writes one report.

    Tests/night.py HOURS    `make night HOURS=8`; 0.3 is enough for a try, after the builds

The parts are `make fuzz`, `make bench AIMS=soak`, `make cluster-prove` and `make simulate`, one after the other. Each
gets a share of the time that the builds leave. A part that fails does not stop the others; the exit status is then 1.
Report and logs are in a new folder below .build-night. Control-C ends the night with a report of what was done.
"""
import datetime
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# The time after its share when a part is ended, since it hangs.
PATIENCE = 1800


class Night:
    def __init__(self, hours):
        self.start, self.began = time.monotonic(), datetime.datetime.now()
        self.end = self.start + hours * 3600
        self.hours = hours
        self.folder = ROOT / f".build-night/{self.began:%Y-%m-%d-%H%M%S}"
        self.folder.mkdir(parents=True)
        # The part in progress, the end of its time, and the rows and sections of those before.
        self.part, self.until = "", self.start
        self.rows, self.sections = [], []

    def show(self, text, stays=False):
        """Shows a line: on a terminal, the next one replaces it unless it stays."""
        line = f"[{clock(time.monotonic() - self.start)} of {clock(self.hours * 3600)}] {self.part}: {text}"
        if sys.stdout.isatty():
            print(f"\r\033[K{line[:os.get_terminal_size().columns - 1]}", end="\n" if stays else "", flush=True)
        elif stays:
            print(line, flush=True)

    def run(self, *command):
        """Runs a command of the part and logs it; returns whether it succeeded, and its output."""
        self.show(" ".join(map(str, command)), stays=True)
        lines, started = [], time.monotonic()
        process = subprocess.Popen(
            list(map(str, command)), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", process_group=0,
        )
        # A program that the command leaves behind may keep the pipe open, so the alarm also ends the reading.
        signal.alarm(max(1, int(self.until + PATIENCE - time.monotonic())))
        with open(self.folder / f"{self.part}.log", "a", encoding="utf-8", buffering=1) as log:
            try:
                for line in process.stdout:
                    log.write(line)
                    lines.append(line)
                    self.show(line.strip())
                process.wait()
            except TimeoutError:
                log.write(f"ended after {clock(time.monotonic() - started)}, because it hung\n")
            finally:
                signal.alarm(0)
                stop(process)
        return process.returncode == 0, "".join(lines)

    def left(self):
        return self.until - time.monotonic()

    def measure(self, part, work, share):
        """Runs a part for a share of the remaining time, and reports it."""
        self.part, started = part, time.monotonic()
        self.until = started + max(0, self.end - started) * share
        try:
            is_good, figures, section = work(self)
        except KeyboardInterrupt:
            self.report(part, "interrupted", started, "", "")
            raise
        self.report(part, "passed" if is_good else "FAILED", started, figures, section)
        return is_good

    def report(self, part, result, started, figures, section):
        seconds = time.monotonic() - started
        self.show(f"{result} after {clock(seconds)}" + (f", {figures}" if figures else ""), stays=True)
        self.rows.append(f"| {part} | {result} | {clock(seconds)} | {figures} |")
        if section:
            self.sections.append(f"## {part.capitalize()}\n\n{section}")
        log = self.folder / f"{part}.log"
        if result == "FAILED" and log.exists():
            tail = log.read_text(errors="replace").splitlines()[-40:]
            self.sections.append(f"The end of {log.name}:\n\n" + quoted(tail))
        commit = subprocess.check_output(["git", "describe", "--always", "--dirty"], cwd=ROOT, text=True).strip()
        model = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
        head = [
            f"# Night of {self.began:%Y-%m-%d}", "",
            f"`make night HOURS={self.hours:g}` of {commit}, from {self.began:%H:%M} on; {os.cpu_count()} cores of "
            f"{model[0] if model else os.uname().machine}, Linux {os.uname().release}.", "",
            "| part | result | time | figures |", "| --- | --- | --- | --- |", *self.rows, "",
        ]
        (self.folder / "report.md").write_text("\n".join(head) + "\n" + "\n\n".join(self.sections) + "\n")


def stop(process):
    """Ends what remains of a command: its process group."""
    for number, wait in ((signal.SIGINT, 60), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, number)
            process.wait(wait)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def clock(seconds):
    return str(datetime.timedelta(seconds=int(seconds)))


def quoted(lines):
    return "\n".join(["```", *lines, "```"])


def builds(night):
    """Everything that the parts build, so that these have their time for themselves."""
    all_good = True
    for command in (["Tests/Fuzz/run.sh", 0], ["make", "simulate-build", "cluster-programs", "bench-programs"]):
        is_good, _ = night.run(*command)
        all_good = all_good and is_good
    return all_good, "", ""


def fuzzing(night):
    is_good, output = night.run("make", "fuzz", f"SECONDS={max(30, int(night.left()) - 120)}")
    table = [line for line in output.splitlines() if line.startswith("| ")]
    total = next((line for line in output.splitlines() if line.startswith("in all: ")), "no table")
    has_coverage, coverage = night.run("Tests/Fuzz/coverage.py", ".build-fuzz/release/fuzz")
    section = [*table, "", total, "", "Functions that the kept inputs reach:", "", quoted(coverage.splitlines())]
    return is_good and has_coverage, total.removeprefix("in all: ").split(";")[0], "\n".join(section)


def soak(night):
    # A minute of load and some seconds for the wallets come before.
    aim = f"AIMS=soak --soaked {max(60, int(night.left()) - 90)} --folder {night.folder}/soak"
    is_good, output = night.run("make", "bench", aim)
    rows = [line for line in output.splitlines() if "  aim " in line]
    figures = ", ".join(re.sub(r" {2,}aim .*", "", re.sub(r" {2,}", ": ", row, count=1)) for row in rows)
    return is_good and len(rows) == 2 and "not reached" not in output, figures, quoted(rows)


def cluster(night):
    """Rounds of ten minutes, since a round revokes wallets."""
    summaries, is_good = [], True
    while is_good and (not summaries or night.left() > 180):
        seconds = min(600, max(60, int(night.left()) - 120))
        is_good, output = night.run("make", "cluster-prove", f"DURATION={seconds}s")
        summaries.append(output[output.rfind("\ncompleted"):].strip() if "\ncompleted" in output else "no report")
    figures = f"{len(summaries)} rounds, all faults" if len(summaries) > 1 else "1 round, all faults"
    return is_good, figures, "\n\n".join(quoted(text.splitlines()) for text in summaries)


def simulator(night):
    """Batches of new seeds, as many as fit into the time."""
    first = seed = random.randrange(1_000_000, 1_000_000_000_000)
    seeds = days = unlocks = minutes = 0
    faults, is_good, count, started = {}, True, 100, time.monotonic()
    while is_good and count >= 20:
        is_good, output = night.run("make", "simulate", f"SEEDS={seed}-{seed + count - 1}")
        seed += count
        if found := re.findall(r"(\d+) seeds, (\d+) wallet days, (\d+) unlocks", output):
            done = list(map(int, found[-1]))
            seeds, days, unlocks = seeds + done[0], days + done[1], unlocks + done[2]
        if speed := re.findall(r"(\d+) wallet days a minute of processor time", output):
            minutes += done[1] / max(1, int(speed[-1]))
        for listed in re.findall(r"\d+ faults: (.*)", output):
            for kind in listed.split(", "):
                name, number = kind.rsplit(" ", 1)
                faults[name] = faults.get(name, 0) + int(number)
        count = min(2000, int(seeds / (time.monotonic() - started) * night.left()))
    figures = f"{seeds:,} seeds from {first} on, {days:,} wallet days, {unlocks:,} unlocks"
    if minutes:
        figures += f", {days / minutes:,.0f} wallet days a minute of processor time"
    kinds = ", ".join(f"{name} {number:,}" for name, number in sorted(faults.items()))
    return is_good and seeds > 0, figures, f"{sum(faults.values()):,} faults: {kinds}."


# Each part's share of the time that remains when it begins.
PARTS = [("builds", builds, 1), ("fuzzing", fuzzing, 0.5), ("soak", soak, 0.25), ("cluster", cluster, 0.5),
         ("simulator", simulator, 1)]


def on_alarm(*_):
    raise TimeoutError


def on_end(*_):
    raise KeyboardInterrupt


def main(hours):
    signal.signal(signal.SIGALRM, on_alarm)
    signal.signal(signal.SIGTERM, on_end)
    night, status = Night(float(hours)), 0
    try:
        for part, work, share in PARTS:
            if not night.measure(part, work, share):
                status = 1
    except KeyboardInterrupt:
        status = 130
    print(f"{night.folder.relative_to(ROOT)}/report.md")
    return status


sys.exit(main(*sys.argv[1:]))

#!/usr/bin/env python3
"""Measures how long clean builds take, each in a new clone without build products.

    Benchmarks/builds.py                 measures all; takes about 35 minutes on two cores
    Benchmarks/builds.py demo test       measures only these
    Benchmarks/builds.py --dry-run       shows the commands

Clones the committed state into a temporary folder beside the repository, so that it is on the same disk. Packages are
resolved before the clock starts, since that depends on the network. CPU time is that of all processes of a command.
"""

import argparse
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent.parent

# The command of each build, and its aim in minutes.
BUILDS = {
    "demo": ("make demo", 2.7),
    "build": ("make build", 6),
    "test": ("make test", 10),
    "deb": ("make deb", 5),
    # Builds nothing; it checks this program.
    "help": ("make help", None),
}


def measure(name, folder):
    """Runs a build in a new clone, and returns its wall and CPU times in minutes."""
    clone = folder / name
    quiet = {"stdout": subprocess.DEVNULL, "check": True}
    subprocess.run(["git", "clone", "--quiet", "--shared", HERE, clone], **quiet)
    log = folder / f"{name}.log"
    with log.open("w") as output:
        if name != "help":
            subprocess.run(["swift", "package", "resolve"], cwd=clone, stdout=output, stderr=output, check=True)
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        build = subprocess.run(["bash", "-c", BUILDS[name][0]], cwd=clone, stdout=output, stderr=output)
        wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if build.returncode:
        raise SystemExit(f"{name}: exit {build.returncode}\n{log.read_text()[-3000:]}")
    shutil.rmtree(clone)
    return wall / 60, (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / 60


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="*", choices=[[], *BUILDS], metavar="BUILD", help=", ".join(BUILDS))
    parser.add_argument("--dry-run", action="store_true", help="show the commands")
    options = parser.parse_args()
    names = options.builds or [name for name, (_, aim) in BUILDS.items() if aim]
    if options.dry_run:
        print("\n".join(f"{name}: {BUILDS[name][0]}" for name in names))
        return
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{len(os.sched_getaffinity(0))} cores, load before: {load}")
    print(f"{'build':10}{'wall min':>10}{'CPU min':>10}{'aim min':>10}")
    with tempfile.TemporaryDirectory(prefix="remote-pin-builds.", dir=HERE.parent) as folder:
        for name in names:
            wall, cpu = measure(name, pathlib.Path(folder))
            aim = BUILDS[name][1]
            missed = "  not reached" if aim and wall > aim else ""
            print(f"{name:10}{wall:10.2f}{cpu:10.2f}{aim or '':>10}{missed}", flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Breaks the code on purpose, one rule at a time, and expects a test to fail for each.

    Tests/Mutants/run.py [NAME ...]     runs all mutants, or those whose names contain one of the NAMEs
    Tests/Mutants/run.py --check        checks that each mutant still matches the sources; takes a second
    Tests/Mutants/run.py --jobs 1       uses one copy of the tree instead of two

The tables are the files *.mutants in this folder, one entry for each mutant:

    mutant: attempts-not-counted
    breaks: the verdict is given before the count is durable
    tests: WalletStoreTests
    file: Sources/Server/PINPolicy/AttemptRecord.swift
    - guard self.isOpen else { return .blocked }
    + guard true else { return .blocked }

"tests" is a filter of `swift test`. The lines after "-" must occur exactly once in the file, one after the
other; indentation, blank lines and lines with only a comment are ignored. The lines after "+" replace them.
A mutant may change several places: repeat "file". Mutants are built in copies (.build-mutants), never in
this tree.
"""
import argparse, os, re, shutil, subprocess, sys, threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIES = ROOT / ".build-mutants"


class Mutant:
    def __init__(self, name):
        self.name, self.breaks, self.tests, self.edits = name, "", "", []


def read_tables():
    mutants = []
    for table in sorted((ROOT / "Tests/Mutants").glob("*.mutants")):
        for number, line in enumerate(table.read_text().splitlines(), 1):
            key, _, value = line.partition(": ")
            if not line.strip() or line.startswith("#"):
                continue
            if key == "mutant":
                mutants.append(Mutant(value))
            elif key == "breaks":
                mutants[-1].breaks = value
            elif key == "tests":
                mutants[-1].tests = value
            elif key == "file":
                mutants[-1].edits.append((value, [], []))
            elif line[:2] in ("- ", "-"):
                mutants[-1].edits[-1][1].append(line[2:])
            elif line[:2] in ("+ ", "+"):
                mutants[-1].edits[-1][2].append(line[2:])
            else:
                sys.exit(f"{table.relative_to(ROOT)}:{number}: not a line of a mutant: {line}")
    names = [mutant.name for mutant in mutants]
    for name in {name for name in names if names.count(name) > 1}:
        sys.exit(f"two mutants are called {name}")
    for mutant in mutants:
        if not (mutant.breaks and mutant.tests and mutant.edits):
            sys.exit(f"{mutant.name}: 'breaks', 'tests' or 'file' is missing")
    return mutants


def is_code(line):
    return bool(line.strip()) and not line.strip().startswith("//")


def mutated(mutant, root):
    """Returns the original and the mutated texts of the files below `root`, or a message if a place does not match."""
    originals, changes = {}, {}
    for path, old, new in mutant.edits:
        file = root / path
        if not file.is_file():
            return None, None, f"{path} does not exist"
        originals.setdefault(file, file.read_text())
        lines = originals[file].split("\n")
        code = [index for index, line in enumerate(lines) if is_code(line)]
        stripped = [lines[index].strip() for index in code]
        wanted = [line.strip() for line in old]
        starts = [at for at in range(len(code)) if stripped[at : at + len(wanted)] == wanted]
        if len(starts) != 1:
            return None, None, f"{path} has these lines {len(starts)} times: {' / '.join(wanted)}"
        first, last = code[starts[0]], code[starts[0] + len(wanted) - 1]
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        changes.setdefault(file, []).append((first, last + 1, [indent + line if line else "" for line in new]))
    texts = {}
    for file, places in changes.items():
        lines = originals[file].split("\n")
        for first, end, new in sorted(places, reverse=True):
            lines[first:end] = new
        texts[file] = "\n".join(lines)
    return originals, texts, None


def apply(mutant, root):
    """Writes the mutated files below `root`; returns the original texts, or a message if a place does not match."""
    originals, texts, problem = mutated(mutant, root)
    for file, text in (texts or {}).items():
        file.write_text(text)
    return originals, problem


def check(mutants):
    stale = 0
    for mutant in mutants:
        # Writes nothing: a build of this tree may run, and touched files would be compiled again.
        _, _, problem = mutated(mutant, ROOT)
        if problem:
            print(f"{mutant.name}: {problem}")
            stale += 1
    print(f"{len(mutants) - stale} of {len(mutants)} mutants match the sources")
    return 1 if stale else 0


def copy_tree(copy):
    """Copies the committed tree and the uncommitted changes; keeps the copy's build folder."""
    tree = copy / "tree"
    tree.mkdir(parents=True, exist_ok=True)
    (copy / "tmp").mkdir(exist_ok=True)
    for entry in tree.iterdir():
        if entry.name != ".build":
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    ).stdout.decode()
    for path in filter(None, listed.split("\0")):
        source = ROOT / path
        if source.is_file() or source.is_symlink():
            target = tree / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
    return tree


def run_one(mutant, copy):
    """Returns the outcome ('caught', 'survived' or 'unusable') and a sentence about it."""
    tree, log = copy / "tree", copy / f"{mutant.name}.log"
    originals, problem = apply(mutant, tree)
    if problem:
        return "unusable", f"DOES NOT APPLY: {problem}"
    environment = dict(
        os.environ, TMPDIR=str(copy / "tmp"), SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH="6"
    )
    try:
        with open(log, "w") as output:
            build = subprocess.run(["swift", "build", "--build-tests"], cwd=tree, stdout=output, stderr=output, env=environment)
        if build.returncode:
            return "unusable", f"DOES NOT BUILD (see {log})"
        # The test bundle itself: `swift test` would leave a test that waits forever behind when it is ended.
        bundle = next((tree / ".build/debug").glob("*PackageTests.xctest"))
        command = ["timeout", "-k", "5", "180", str(bundle), "--testing-library", "swift-testing", "--filter", mutant.tests]
        with open(log, "w") as output:
            status = subprocess.run(command, cwd=tree, stdout=output, stderr=output, env=environment).returncode
        text = log.read_text(errors="replace")
        failed = re.search(r'Test "([^"]+)" (?:failed|recorded)', text)
        by = f'test "{failed.group(1)}"' if failed else None
        if "Test run started" not in text:
            return "unusable", f"NOT TESTED (see {log})"
        if status == 0:
            return "survived", f"SURVIVED: {mutant.breaks}"
        if status in (124, 137):
            return "caught", f"by {by or 'a test'} (a test timed out)"
        return "caught", f"by {by or 'a crash'}"
    finally:
        for file, text in originals.items():
            file.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--check", action="store_true", help="only check that each mutant matches the sources")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="copies of the tree used side by side")
    arguments = parser.parse_args()
    mutants = [m for m in read_tables() if not arguments.names or any(part in m.name for part in arguments.names)]
    if not mutants:
        print("no mutant has such a name", file=sys.stderr)
        return 64
    if arguments.check:
        return check(mutants)
    outcomes, lock, waiting = [], threading.Lock(), iter(mutants)

    def work(index):
        copy = COPIES / str(index)
        copy_tree(copy)
        while True:
            with lock:
                mutant = next(waiting, None)
            if mutant is None:
                return
            outcome, sentence = run_one(mutant, copy)
            with lock:
                outcomes.append(outcome)
                print(f"{len(outcomes):3}/{len(mutants)} {mutant.name:44} {outcome} {sentence}", flush=True)

    workers = [threading.Thread(target=work, args=(index,), daemon=True) for index in range(arguments.jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    counts = {kind: outcomes.count(kind) for kind in ("caught", "survived", "unusable")}
    print(f"\n{counts['caught']} caught, {counts['survived']} survived, {counts['unusable']} unusable")
    return 0 if counts["caught"] == len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())

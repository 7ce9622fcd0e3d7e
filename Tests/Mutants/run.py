#!/usr/bin/env python3
"""Breaks the code on purpose, one rule at a time, and expects a test to fail for each.

    Tests/Mutants/run.py [NAME ...]     runs all mutants, or those whose names contain one of the NAMEs
    Tests/Mutants/run.py --check        checks that each mutant still matches the sources; takes a second
    Tests/Mutants/run.py --jobs 1       runs the tests of one mutant at a time instead of two
    Tests/Mutants/run.py --minutes 20   starts no mutant after 20 minutes
    Tests/Mutants/run.py --resume       continues the last run: omits the mutants that have an outcome
    Tests/Mutants/run.py --explore      runs the explorer (make explore) instead of tests, on the mutants that name
                                        a plan
    Tests/Mutants/run.py --simulate     runs the simulator (make simulate) instead of tests, on the mutants that name
                                        seeds; with --explore, one build serves both

The tables are the files *.mutants in this folder, one entry for each mutant:

    mutant: attempts-not-counted
    breaks: the verdict is given before the count is durable
    tests: WalletStoreTests
    file: Sources/Server/PINPolicy/AttemptRecord.swift
    - guard self.isOpen else { return .blocked }
    + guard true else { return .blocked }

    mutant: attempts-not-stored
    breaks: a wrong PIN is judged without storing its count
    tests: WalletStoreTests
    - if isCounted
    + if false

"tests" is a filter of `swift test`. "explored", after "tests", names a plan and bounds of the explorer, which then
finds the mutant, too: `explored: restore sessions=3`. Likewise, "simulated" names seeds of the simulator, of which one
finds the mutant: `simulated: 20`, or only seeds of two servers: `simulated: 100 --shared`. docs/proof-reference.md
lists these mutants. The lines after "-" must occur exactly once in the file, one after the other; indentation, blank
lines and lines with only a comment are ignored. The lines after "+" replace them.
A mutant may change several places: repeat "file".

Without "file", the mutant changes the statement beside or below the comment `// rule: attempts-not-stored`, which
names it and occurs once in Sources. The text after "-" must occur once in the statement, and the text after "+"
replaces it; an entry without "-" and "+" removes the statement. Prefer this form if it quotes less: the entry stays
the same when the statement moves and when its other parts change. Add a mutant only for a rule of G1 to G8 or of the
boundary (CONTRIBUTING.md).

One build contains almost all mutants. In it, each function that a mutant changes has its body twice, and the
environment variable MUTANT, which programs inherit from the tests, decides at each call which body runs:

    if isMutated("attempts-not-counted") { the changed body } else { the body }

The initial value of a constant becomes `isMutated("…") ? (changed) : (initial)`. Without the variable all
tests must pass; this is checked first. The rest gets a build for each mutant: changes of a declaration or of
the manifest, and bodies that compile only without the other. All builds are made in a copy (.build-mutants),
never in this tree. While the tests run, the copy holds the original sources, because some tests read them.
"""
import argparse, functools, json, os, re, shutil, subprocess, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROOF = ROOT / "docs/proof-reference.md"
COPY = ROOT / ".build-mutants"
TREE, RESULTS, SEPARATE = COPY / "tree", COPY / "results", COPY / "separate.json"

SWITCH = """\
internal import Glibc

private let mutant = unsafe getenv("MUTANT").map { unsafe String(cString: $0) }

func isMutated(_ name: String) -> Bool { mutant == name }
"""
MODIFIERS = (
    r"\s*(?:@\w+(?:\([^)]*\))? |(?:private|fileprivate|package|public|static|final|override|mutating|consuming"
    r"|borrowing|convenience|required|lazy|nonisolated)(?:\([^)]*\))? )*"
)
FUNCTION = re.compile(MODIFIERS + r"(?:(?:func|init|deinit|subscript|get|set|didSet|willSet)\b|var [^=]*$)")
ONE_LINER = re.compile("(" + MODIFIERS + r"(?:(?:func|init|subscript|get|set)\b[^{]*|var [^{=]*)\{ )(.*) \}$")
CONSTANT = re.compile("(" + MODIFIERS + r"(?:let|var) [^={]*=)(?: (.*))?$")
RULE = re.compile(r"(?:^\s*|  )// rule: (\S+)$")


class Mutant:
    def __init__(self, name):
        self.name, self.breaks, self.tests, self.explored, self.simulated = name, "", "", "", ""
        self.edits = [(None, [], [])]


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
            elif key == "explored":
                mutants[-1].explored = value
            elif key == "simulated":
                mutants[-1].simulated = value
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
        mutant.edits = [edit for edit in mutant.edits if any(edit)] or mutant.edits
        if not (mutant.breaks and mutant.tests):
            sys.exit(f"{mutant.name}: 'breaks' or 'tests' is missing")
    return mutants


def is_code(line):
    return bool(line.strip()) and not line.strip().startswith("//")


def indent(line):
    return len(line) - len(line.lstrip())


@functools.cache
def anchors(root):
    """Returns the places {name: [(path, line)]} of the comments `// rule: NAME`."""
    found = {}
    for file in sorted((root / "Sources").rglob("*.swift")):
        text = file.read_text()
        for number, line in enumerate(text.split("\n") if "// rule: " in text else []):
            if rule := RULE.search(line):
                found.setdefault(rule[1], []).append((str(file.relative_to(root)), number))
    return found


def statement(lines, at):
    """Returns the first line and the end of the statement beside or below line `at`, which indentation tells."""
    first = next(index for index in range(at, len(lines)) if is_code(lines[index]))
    end = first + 1
    for index in filter(lambda index: is_code(lines[index]), range(end, len(lines))):
        deeper, text = indent(lines[index]) - indent(lines[first]), "".join(lines[first:index])
        is_open = sum(map(text.count, "([{")) > sum(map(text.count, ")]}"))
        is_part = re.match(r"[)\]}]" if is_open else r"else\b", lines[index].strip())
        if deeper < 0 or (deeper == 0 and not is_part):
            break
        end = index + 1
    return first, end


def quoted(lines, old, new):
    """Returns the place of the lines `old` as (first, end, new lines), or how often they occur if not once."""
    code = [index for index, line in enumerate(lines) if is_code(line)]
    stripped = [lines[index].strip() for index in code]
    wanted = [line.strip() for line in old]
    starts = [at for at in range(len(code)) if stripped[at : at + len(wanted)] == wanted]
    if len(starts) != 1:
        return len(starts)
    first, end = code[starts[0]], code[starts[0] + len(wanted) - 1] + 1
    return first, end, [" " * indent(lines[first]) + line if line else "" for line in new]


def anchored(lines, at, old, new):
    """Returns the place of the statement at a comment as (first, end, new lines), or how often it contains `old`."""
    first, end = statement(lines, at)
    text, part = "\n".join(lines[first:end]), "\n".join(old)
    if not old and not new:
        return first, end, []
    times = text.count(part)
    return times if times != 1 else (first, end, text.replace(part, "\n".join(new)).split("\n"))


def places(mutant, root):
    """Returns the mutant's places in each file, as (first, end, new lines), or a message if one does not match."""
    found = {}
    for path, old, new in mutant.edits:
        rules = [] if path else anchors(root).get(mutant.name, [])
        if not path and len(rules) != 1:
            return None, f"the comment '// rule: {mutant.name}' occurs {len(rules)} times"
        path, at = rules[0] if rules else (path, None)
        file = root / path
        if not file.is_file():
            return None, f"{path} does not exist"
        lines = file.read_text().split("\n")
        place = anchored(lines, at, old, new) if rules else quoted(lines, old, new)
        if isinstance(place, int):
            where = f"the statement at line {at + 1} of {path}" if rules else path
            return None, f"{where} has this {place} times: {' / '.join(line.strip() for line in old)}"
        first, end, new = place
        # The lines that stay do not count, so that a function's first line can name the place.
        while new and first < end and lines[first] == new[0]:
            first, new = first + 1, new[1:]
        while new and first < end and lines[end - 1] == new[-1]:
            end, new = end - 1, new[:-1]
        found.setdefault(path, []).append((first, end, new))
    return found, None


def changed(lines, places):
    lines = list(lines)
    for first, end, new in sorted(places, reverse=True):
        lines[first:end] = new
    return lines


def check(mutants):
    problems = [f"{mutant.name}: {problem}" for mutant in mutants if (problem := places(mutant, ROOT)[1])]
    named = {mutant.name for mutant in mutants if not mutant.edits[0][0]}
    for name in sorted(anchors(ROOT).keys() - named):
        problems += [f"{path}:{at + 1}: no mutant without 'file' is called {name}" for path, at in anchors(ROOT)[name]]
    proof = PROOF.read_text()
    for finder, listed in (("explorer", "explored"), ("simulator", "simulated")):
        section = proof.partition(f"\n### Mutants of the {finder}\n")[2].partition("\n#")[0]
        lost = [m for m in mutants if getattr(m, listed) and f"| {m.name} |" not in section]
        problems += [f"{mutant.name}: {PROOF.name} lacks it among the mutants of the {finder}" for mutant in lost]
    problems += rule_problems({mutant.name: mutant for mutant in mutants}, proof)
    print("\n".join(problems + [f"{len(mutants) - len(problems)} of {len(mutants)} mutants match the sources"]))
    return 1 if problems else 0


def rule_problems(mutants, proof):
    """Compares the table of rules with the mutants: E for the explorer, S for the simulator, T for neither."""
    problems, section = [], proof.partition("\n## Rules and their mutants\n")[2]
    for names, finders in re.findall(r"^\|.*\| ([a-z0-9-]+(?:, [a-z0-9-]+)*) \| ([EST](?:, S)?) \|$", section, re.M):
        for name in names.split(", "):
            mutant = mutants.get(name)
            found = [letter for letter, by in (("E", "explored"), ("S", "simulated")) if getattr(mutant, by, None)]
            expected = ", ".join(found) or "T"
            if not mutant or finders != expected:
                problems.append(f"{name}: the rules in {PROOF.name} say '{finders}', not '{expected}'")
    return problems


def region(lines, first, end, new):
    """Returns the lines (start, stop) that a switch around this place repeats, and their kind, or None.

    They are the body of the innermost function, or else a constant's declaration. `swift format` lets the
    indentation tell which lines these are.
    """
    if end == first + 1 and ONE_LINER.match(lines[first]):
        return first, end, "one-liner"
    level = min(indent(line) for line in lines[first:end] + new if is_code(line))
    constant = (first, end, "constant") if end == first + 1 and CONSTANT.match(lines[first]) else None
    for at in range(first - 1, -1, -1):
        if not is_code(lines[at]) or lines[at].startswith("#") or indent(lines[at]) >= level:
            continue
        level, header = indent(lines[at]), at
        while re.match(r"\s*(?:\)|->|where |throws|async|\{)", lines[header]):
            header = next(above for above in range(header - 1, -1, -1) if indent(lines[above]) == level)
        stop = next((below for below in range(end, len(lines)) if lines[below] and indent(lines[below]) <= level), 0)
        if FUNCTION.match(lines[header]) and lines[at].endswith("{") and lines[stop].strip() == "}":
            return at + 1, stop, "body"
        if CONSTANT.match(lines[header]):
            constant = (header, stop + (lines[stop].strip()[:1] in (")", "]", "}")), "constant")
    return constant


def cut(kind, lines):
    """Returns the unchanging beginning of a region and the lines from which its switch chooses, or None."""
    if kind == "body":
        return "", lines
    match = (ONE_LINER if kind == "one-liner" else CONSTANT).match(lines[0]) if lines else None
    return match and (match[1], [match[2] or "", *lines[1:]])


def regions(lines, places):
    """Returns the regions {(start, stop, kind): changed lines} of a mutant with these places, or None."""
    found = {}
    for place in places:
        key = region(lines, *place)
        if key is None:
            return None
        start, stop, kind = key
        inside = [other for other in places if start <= other[0] and other[1] <= stop]
        growth = sum(len(new) - (end - first) for first, end, new in inside)
        variant = changed(lines, inside)[start : stop + growth]
        beginning = cut(kind, variant)
        if beginning is None or beginning[0] != cut(kind, lines[start:stop])[0]:
            return None
        found[key] = variant
    return found


def switched(lines, mutants):
    """Returns the lines with a switch for each of the mutants {name: regions}, and each line's mutants."""
    waiting = sorted({key for regions in mutants.values() for key in regions}, key=lambda key: (key[0], -key[1]))
    out, owners = [], []

    def write(names, *lines):
        out.extend(lines)
        owners.extend([names] * len(lines))

    def write_original(start, stop):
        while start < stop:
            if waiting and waiting[0][0] == start:
                start = write_switch(*waiting.pop(0))
            else:
                write([], lines[start])
                start += 1

    def write_switch(start, stop, kind):
        names = [name for name, regions in mutants.items() if (start, stop, kind) in regions]
        beginning, original = cut(kind, lines[start:stop])
        write(names, beginning)
        for name in names:
            variant = cut(kind, mutants[name][start, stop, kind])[1]
            if kind == "constant":
                write([name], f'isMutated("{name}") ? (', *variant, ") :")
            else:
                write([name], f'if isMutated("{name}") {{', *variant, "} else")
        write(names, "(" if kind == "constant" else "{")
        write_original(start, stop) if kind == "body" else write(names, *original)
        write(names, {"constant": ")", "one-liner": "}}", "body": "}"}[kind])
        return stop

    write_original(0, len(lines))
    return out, owners


def copy_tree():
    """Copies the committed tree and the uncommitted changes; keeps the copy's build folder."""
    TREE.mkdir(parents=True, exist_ok=True)
    for entry in TREE.iterdir():
        if entry.name != ".build":
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    for path in filter(None, listed.split("\0")):
        source = ROOT / path
        if source.is_file() or source.is_symlink():
            target = TREE / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)


class Build:
    """The copy's build, which contains all mutants that a switch can choose."""

    def __init__(self, mutants, programs=()):
        """Builds the tests, or else these programs."""
        self.commands = [["swift", "build", "--product", program] for program in programs]
        self.commands = self.commands or [["swift", "build", "--build-tests"]]
        self.originals, self.regions, self.owners = {}, {}, {}
        # Mutants that did not compile next to the original, as long as their entries stay the same.
        self.separate = json.loads(SEPARATE.read_text()) if SEPARATE.exists() else {}
        for mutant in mutants:
            found, _ = places(mutant, TREE)
            for path in ["Package.swift", *found]:
                self.originals.setdefault(path, (TREE / path).read_text())
            its = {path: regions(self.originals[path].split("\n"), its) for path, its in found.items()}
            is_known = self.separate.get(mutant.name) == repr(mutant.edits)
            if not is_known and all(its.values()) and all(path.startswith("Sources/") for path in its):
                self.regions[mutant.name] = its

    def switched_texts(self):
        """Returns the texts {path: text} that contain the switches."""
        targets = re.findall(r'"(Sources/[^"]*)"', (TREE / "Package.swift").read_text())
        texts = {}
        for path, original in self.originals.items():
            its = {name: regions[path] for name, regions in self.regions.items() if path in regions}
            if its:
                lines, self.owners[path] = switched(original.split("\n"), its)
                target = max((target for target in targets if path.startswith(target + "/")), key=len)
                texts |= {path: "\n".join(lines), f"{target}/MutantSwitch.swift": SWITCH}
        return texts

    def run(self, mutated, log):
        """Builds the switched sources and the `mutated` texts, which stay in the tree. Returns whether it builds."""
        texts = {"Package.swift": self.originals["Package.swift"]} | self.switched_texts() | mutated
        # Mutants leave values that nothing uses; the warning does not keep them from being built.
        texts["Package.swift"] = texts["Package.swift"].replace("    .treatAllWarnings(as: .error),\n", "")
        for path, text in texts.items():
            # A file that stays the same keeps its time, so that it is not compiled again.
            kept = COPY / "switched" / path
            if not kept.exists() or kept.read_text() != text:
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(text)
            shutil.copy2(kept, TREE / path)
        with open(log, "w") as output:
            environment = dict(os.environ, REMOTE_PIN_BENCHMARKS="1") if "--product" in self.commands[0] else None
            builds = all(
                subprocess.run(command, cwd=TREE, stdout=output, stderr=output, env=environment).returncode == 0
                for command in self.commands
            )
        self.restore(texts)
        for path, text in mutated.items():
            (TREE / path).write_text(text)
        return builds

    def restore(self, paths):
        """Restores the original sources, because some tests read them."""
        for path in paths:
            if path in self.originals:
                (TREE / path).write_text(self.originals[path])
            else:
                (TREE / path).unlink()

    def run_switched(self, mutants):
        """Builds the switched sources; puts aside the mutants that do not compile. Returns whether it builds."""
        entries = {mutant.name: repr(mutant.edits) for mutant in mutants}
        log = COPY / "build.log"
        while not self.run({}, log):
            errors = set(re.findall(r"^(/.*?\.swift):(\d+):\d+: error:", log.read_text(errors="replace"), re.MULTILINE))
            guilty = set()
            for path, number in errors:
                owners = self.owners.get(os.path.relpath(path, TREE.resolve()), [])
                # An error behind a switch, such as a missing return, concerns the nearest one before it.
                guilty |= set(next(filter(None, reversed(owners[: int(number)])), []))
            if not guilty:
                print(f"the build with all switches fails (see {log})", file=sys.stderr)
                return False
            print(f"only in separate builds: {', '.join(sorted(guilty))}", flush=True)
            for name in guilty:
                self.regions.pop(name)
                self.separate[name] = entries[name]
            SEPARATE.write_text(json.dumps(self.separate, indent=1))
        return True


def test(filters, log, seconds=180, mutant=None):
    """Runs the tests and returns their exit status, the name of a failed test, and whether any test ran."""
    (COPY / "tmp").mkdir(exist_ok=True)
    environment = dict(os.environ, TMPDIR=str(COPY / "tmp"), SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH="6")
    if mutant:
        environment["MUTANT"] = mutant
    # The test bundle itself: `swift test` would leave a test that waits forever behind when it is ended.
    bundle = next((TREE / ".build/debug").glob("*PackageTests.xctest"))
    command = ["timeout", "-k", "5", str(seconds), str(bundle), "--testing-library", "swift-testing"]
    for each in filters:
        command += ["--filter", each]
    with open(log, "w") as output:
        status = subprocess.run(command, cwd=TREE, stdout=output, stderr=output, env=environment).returncode
    text = log.read_text(errors="replace")
    failed = re.search(r'Test "([^"]+)" (?:failed|recorded)', text)
    return status, failed and failed[1], "Test run started" in text and "Test run with 0 tests" not in text


def run_one(mutant, build):
    """Returns the outcome ('caught', 'survived' or 'unusable') and a sentence about it."""
    log, is_switched, found = COPY / f"{mutant.name}.log", mutant.name in build.regions, {}
    try:
        if not is_switched:
            found, _ = places(mutant, TREE)
            originals = build.originals
            texts = {path: "\n".join(changed(originals[path].split("\n"), its)) for path, its in found.items()}
            if not build.run(texts, log):
                return "unusable", f"DOES NOT BUILD (see {log})"
        status, failed, has_run = test([mutant.tests], log, mutant=mutant.name if is_switched else None)
    finally:
        build.restore(found)
    if not has_run:
        return "unusable", f"NOT TESTED (see {log})"
    if status == 0:
        return "survived", f"SURVIVED: {mutant.breaks}"
    by = f'by test "{failed}"' if failed else "by a test" if status in (124, 137) else "by a crash"
    return "caught", by + (" (a test timed out)" if status in (124, 137) else "")


def explore_one(mutant):
    """Runs the explorer; returns its output, the violated invariant or None, the steps of the trace, and the time."""
    began = time.monotonic()
    command = [TREE / ".build/debug/explore", *mutant.explored.split()]
    environment = dict(os.environ, MUTANT=mutant.name)
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    output = run.stdout
    violated = re.search(r"^  violated: (.*)", output, re.MULTILINE)
    steps = len(re.findall(r"^  \d+\. ", output, re.MULTILINE))
    return output, violated and violated[1], steps, time.monotonic() - began


def simulate_one(mutant):
    """Runs the simulator; returns its output, the violation or None, the seed that shows it, and the time."""
    began = time.monotonic()
    command = [TREE / ".build/debug/simulate", *f"SEEDS={mutant.simulated}".split(), "JOBS=1", "--quick"]
    environment = dict(os.environ, MUTANT=mutant.name)
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    violated = re.search(r"^seed (\d+): (.*)", run.stdout, re.MULTILINE)
    seed, violation = violated.groups() if violated else ("", None)
    return run.stdout, violation, seed, time.monotonic() - began


# By program: the entry of a mutant, the entry of a run without a mutant, the function, and the found place's name.
PROGRAMS = {
    "explore": ("explored", "change", explore_one, "steps"),
    "simulate": ("simulated", "40", simulate_one, "seed"),
}


def prove(programs, every, mutants, jobs):
    """Builds the programs with every mutant that they find, and runs them on those of `mutants`. Returns the exit
    status."""
    found = [m for m in every if any(getattr(m, PROGRAMS[program][0]) for program in programs)]
    copy_tree()
    began, build = time.monotonic(), Build(found, programs)
    if not build.run_switched(found):
        return 1
    print(f"the build took {time.monotonic() - began:.0f} s", flush=True)
    lost = [mutant.name for mutant in mutants if mutant in found and mutant.name not in build.regions]
    if lost:
        print(f"not in the build: {lost}", file=sys.stderr)
        return 1
    return max(prove_by(program, every, mutants, jobs) for program in programs)


def prove_by(program, every, mutants, jobs):
    """Runs a program on those of `mutants` that it finds, and prints a table and, unless all run, the output. Returns
    the exit status."""
    listed, control, run_one, found_by = PROGRAMS[program]
    every = [mutant for mutant in every if getattr(mutant, listed)]
    mutants = [mutant for mutant in every if mutant in mutants]
    unchanged = Mutant("none")
    setattr(unchanged, listed, control)
    if violated := run_one(unchanged)[1]:
        print(f"without a mutant: {violated}", file=sys.stderr)
        return 1
    print(f"| mutant | {listed} | violated | {found_by} | time |\n| --- | --- | --- | --- | --- |", flush=True)
    missed = 0
    with ThreadPoolExecutor(jobs) as workers:
        for mutant, (output, violated, found, seconds) in zip(mutants, workers.map(run_one, mutants)):
            what = violated or f"NOTHING: {mutant.breaks}"
            row = [mutant.name, getattr(mutant, listed), what, f"{found}", f"{seconds:.0f} s"]
            print(f"| {' | '.join(row)} |", flush=True)
            if not violated or len(mutants) < len(every):
                print(output)
            missed += not violated
    return 1 if missed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--check", action="store_true", help="only check that each mutant matches the sources")
    parser.add_argument("--explore", action="store_true", help="run the explorer; with a NAME, print the traces")
    parser.add_argument("--simulate", action="store_true", help="run the simulator; with a NAME, print its output")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="mutants whose tests run side by side")
    parser.add_argument("--minutes", type=float, default=1e6, metavar="N", help="start no mutant after this time")
    parser.add_argument("--resume", action="store_true", help="omit the mutants that have an outcome")
    arguments = parser.parse_args()
    every = read_tables()
    mutants = [m for m in every if not arguments.names or any(part in m.name for part in arguments.names)]
    if not mutants:
        print("no mutant has such a name", file=sys.stderr)
        return 64
    if arguments.check:
        return check(mutants)
    if check(every):
        return 1
    if arguments.explore or arguments.simulate:
        programs = [program for program in PROGRAMS if getattr(arguments, program)]
        return prove(programs, every, mutants, arguments.jobs)
    began, lock = time.monotonic(), threading.Lock()
    copy_tree()
    build = Build(every)
    if not build.run_switched(every):
        return 1
    minutes = (time.monotonic() - began) / 60
    print(f"one build contains {len(build.regions)} mutants after {minutes:.0f} minutes", flush=True)
    lines = RESULTS.read_text().splitlines() if arguments.resume and RESULTS.exists() else []
    outcomes = {name: outcome for name, outcome, *_ in map(str.split, lines)}
    if "control" not in outcomes:
        log = COPY / "control.log"
        status, failed, _ = test({mutant.tests for mutant in mutants} if arguments.names else [], log, seconds=1200)
        if status:
            print(f'without a mutant, test "{failed}" fails (see {log})', file=sys.stderr)
            return 1
        outcomes["control"] = "passed"
        RESULTS.write_text("control passed\n")
    left = [mutant for mutant in mutants if mutant.name not in outcomes]

    def work(mutant, started, position, count):
        if time.monotonic() - began > 60 * arguments.minutes:
            return
        outcome, sentence = run_one(mutant, build)
        minutes = (time.monotonic() - started) / (position + 1) * (count - position - 1) / 60
        with lock:
            outcomes[mutant.name] = outcome
            with open(RESULTS, "a") as results:
                print(mutant.name, outcome, sentence, file=results)
            print(f"{len(outcomes) - 1:3}/{len(mutants)} {mutant.name:44} {outcome} {sentence}", flush=True)
            if position % 20 == 19:
                print(f"{minutes:.0f} minutes left for {count - position - 1} of this kind", flush=True)

    # In the order of their files, so that two mutants of a target in a row compile it once.
    separate = [m for m in left if m.name not in build.regions]
    separate.sort(key=lambda mutant: min(places(mutant, TREE)[0]))
    for group, jobs in (([m for m in left if m.name in build.regions], arguments.jobs), (separate, 1)):
        started = time.monotonic()
        with ThreadPoolExecutor(jobs) as workers:
            list(workers.map(lambda each: work(each[1], started, each[0], len(group)), enumerate(group)))
    kinds = [outcomes.get(mutant.name, "left") for mutant in mutants]
    print("\n" + ", ".join(f"{kinds.count(kind)} {kind}" for kind in ("caught", "survived", "unusable", "left")))
    return 0 if kinds.count("caught") == len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())

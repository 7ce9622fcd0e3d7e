#!/usr/bin/env python3
"""Compares docs/model/counting.pml with the explorer: the constants, and every step on the wallet's row.

    Tests/Explore/model.py EXPLORE     EXPLORE is the explorer's program

Both run to the end of their bounds and print each kind of step once: the event, the number of failures before and
after, whether the wallet is revoked, and the answer. The sets of the model, of SQLite and of PostgreSQL must be equal.
"""
import re, subprocess, sys, tempfile
from pathlib import Path

MODEL = Path(__file__).resolve().parents[2] / "docs/model/counting.pml"
# Three messages reach every row: two wrong PINs and one more, which is an instruction or opens a session.
MESSAGES = 3
BOUNDS = [["sessions=1", "messages=3"], ["sessions=2", "messages=2"]]
STORES = {"SQLite": "attempts", "PostgreSQL": "two-servers"}
# Places of the model at which a step is printed: the line, and the answer and the failures after the step.
PLACES = [
    (":: primary.revoked -> goto done", "0", "primary.failures"),
    (") -> judgement = primary.serial; round = primary.round;", "1", "primary.failures"),
    ("serials++; judgement = serials; round = primary.round; valid = right;", "1 + right",
     "(right -> 0 : primary.failures + 1)"),
]
ANSWERS = {"0": "revoked", "1": "told", "2": "share"}


def printing_steps(text):
    """Returns the model with a line printed at each step on the row."""
    for place, answer, after in PLACES:
        if text.count(place) != 1:
            sys.exit(f"the model has {text.count(place)} places with: {place}")
        values = f"id, primary.lastWrong, right, primary.failures, primary.revoked, {answer}, {after}"
        step = f'printf("STEP %d %d %d %d %d %d %d\\n", {values})'
        before_jump = place.replace("goto done", f"{step}; goto done")
        text = text.replace(place, before_jump if "goto" in place else f"{place} {step};")
    return re.sub(r"^(#define MESSAGES) \d+", rf"\1 {MESSAGES}", text, flags=re.M)


def model_steps(text, folder):
    (folder / "counting.pml").write_text(printing_steps(text))
    subprocess.run(["spin", "-a", "counting.pml"], cwd=folder, check=True)
    compiler = ["gcc", "-O2", "-w", "-DSAFETY", "-DCOLLAPSE", "-DPRINTF", "-o", "pan", "pan.c"]
    subprocess.run(compiler, cwd=folder, check=True)
    with subprocess.Popen(["./pan", "-E", "-m100000"], cwd=folder, stdout=subprocess.PIPE, text=True) as pan:
        lines = set(pan.stdout)
    if not any(re.search(r"errors: 0$", line.rstrip()) for line in lines):
        sys.exit(f"the model does not end without errors:\n{''.join(sorted(lines)[:40])}")
    steps = set()
    for words in (line.split() for line in lines if line.startswith("STEP ")):
        entry, last, right, failures, revoked, answer, after = words[1:]
        pin = "right" if right == "1" else "wrong"
        event = "session" if entry == "0" else f"{'repeated' if entry == last else 'new'} {pin}"
        steps.add(f"{event}, failures {failures}, revoked {revoked} -> {ANSWERS[answer]}, failures {after}")
    return steps


def explorer_steps(explore, plan):
    steps = set()
    for bounds in BOUNDS:
        command = [explore, "--transitions", plan, "revocations=1", "failovers=0", "cancellations=0", *bounds]
        steps |= set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines())
    return steps


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    explore, text = str(Path(sys.argv[1]).resolve()), MODEL.read_text()
    constants = {name: int(value) for name, value in re.findall(r"^#define ([A-Z]+) (\d+)", text, re.M)}
    help_text = subprocess.run([explore, "--help"], check=True, capture_output=True, text=True).stdout
    plan = re.search(r"^  two-servers\n +(.*)$", help_text, re.M)[1]
    bounds = {name: int(value) for name, value in (word.split("=") for word in plan.split())}
    expected = {
        "ALLOWANCE": bounds["rounds"] * bounds["attempts"],
        "RIGHTS": bounds["rights"],
        "FAILOVERS": bounds["failovers"],
        "CANCELLATIONS": bounds["cancellations"],
    }
    problems = [
        f"{name} is {constants.get(name)} in the model and {value} in the explorer"
        for name, value in expected.items()
        if constants.get(name) != value
    ]
    with tempfile.TemporaryDirectory() as folder:
        model = model_steps(text, Path(folder))
    for store, plan in STORES.items():
        steps = explorer_steps(explore, plan)
        problems += [f"only the model has, not {store}: {step}" for step in sorted(model - steps)]
        problems += [f"only {store} has, not the model: {step}" for step in sorted(steps - model)]
    print("\n".join(problems + [f"{len(expected)} constants and {len(model)} steps compared"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

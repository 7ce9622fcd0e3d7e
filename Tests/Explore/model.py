#!/usr/bin/env python3
"""Compares docs/model/counting.pml with the explorer: the constants, every step on the wallet's row, and every end of a
wait for the standby.

    Tests/Explore/model.py EXPLORE     EXPLORE is the explorer's program

Both run to the end of their bounds and print each kind of step once: the event, the number of failures before and
after, whether the wallet is revoked, the answer, and whether the answer waits for a commit. Likewise, they print each
end of such a wait, and whether the call is answered. The sets of the model and of PostgreSQL must be equal. SQLite
has no standby, so its set is compared without the waits.
"""
import re, subprocess, sys, tempfile
from pathlib import Path

MODEL = Path(__file__).resolve().parents[2] / "docs/model/counting.pml"
# Three messages reach every row: two wrong PINs and one more, which is an instruction or opens a session.
MESSAGES = 3
BOUNDS = [["sessions=1", "messages=3"], ["sessions=2", "messages=2"]]
# Constants of the model without a counterpart in the explorer.
WITHOUT_COUNTERPART = {
    "EXPIRIES": "the explorer has no leases; the simulator has them",
    "REVOCATION": "the number of a process, not a bound",
}
STORES = {"SQLite": "attempts", "PostgreSQL": "two-servers"}
# Places of the model at which a step is printed: the line, and the answer and the failures after the step.
PLACES = [
    (":: primary.revoked ->", "0", "primary.failures"),
    (") -> judgement = primary.serial; round = primary.round;", "1", "primary.failures"),
    ("serials++; judgement = serials; round = primary.round; valid = right;", "1 + right",
     "(right -> 0 : primary.failures + 1)"),
]
# Places of the model at which a wait for the standby ends, and how it ends.
ENDS = [
    (":: waiting == me + 1 && !behind -> waiting = 0;", "a call, replicated -> answered"),
    (":: waiting == me + 1 && cancellations < CANCELLATIONS -> cancellations++; waiting = 0;",
     "a call, cancelled -> not answered"),
    (":: waiting != me + 1 ->", "a call, failover -> not answered"),
    (":: waiting == REVOCATION && !behind -> waiting = 0", "the revocation, replicated -> answered"),
    (":: waiting == REVOCATION && cancellations < CANCELLATIONS -> cancellations++; waiting = 0;",
     "the revocation, cancelled -> not answered"),
    (":: waiting != REVOCATION ->", "the revocation, failover -> not answered"),
]
ANSWERS = {"0": "revoked", "1": "told", "2": "share"}


def printing_steps(text):
    """Returns the model with a line printed at each step on the row."""
    for place, answer, after in PLACES:
        if text.count(place) != 1:
            sys.exit(f"the model has {text.count(place)} places with: {place}")
        values = f"id, primary.lastWrong, right, primary.failures, primary.revoked, {answer}, {after}"
        step = f'printf("STEP %d %d %d %d %d %d %d\\n", {values})'
        text = text.replace(place, f"{place} {step};")
    for place, end in ENDS:
        if text.count(place) != 1:
            sys.exit(f"the model has {text.count(place)} places with: {place}")
        text = text.replace(place, f'{place.rstrip(";")}{"" if place.endswith("->") else ";"} printf("WAIT {end}\\n");')
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
        steps.add(f"{event}, failures {failures}, revoked {revoked} -> {ANSWERS[answer]}, failures {after}, commits")
    return steps | {f"wait of {line[5:].rstrip()}" for line in lines if line.startswith("WAIT ")}


def explorer_steps(explore, plan):
    steps = set()
    for bounds in BOUNDS:
        command = [explore, "--transitions", plan, "revocations=1", *bounds]
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
        # In both programs, each message may have a separate attempt id.
        "ENTRIES": constants.get("MESSAGES"),
        "RIGHTS": bounds["rights"],
        "FAILOVERS": bounds["failovers"],
        "CANCELLATIONS": bounds["cancellations"],
    }
    problems = [
        f"{name} is {constants.get(name)} in the model and {value} in the explorer"
        for name, value in expected.items()
        if constants.get(name) != value
    ]
    # The model counts openings of sessions as messages, and its instructions need no session.
    if not 0 < constants.get("MESSAGES", 0) <= bounds["messages"] + bounds["sessions"]:
        problems.append("the model has more MESSAGES than the explorer has messages and sessions")
    known = {*expected, "MESSAGES", *WITHOUT_COUNTERPART}
    problems += [f"{name} is not compared" for name in sorted(constants.keys() - known)]
    problems += [f"the model has no {name}" for name in sorted(known - constants.keys())]
    with tempfile.TemporaryDirectory() as folder:
        model = model_steps(text, Path(folder))
    for store, plan in STORES.items():
        steps = explorer_steps(explore, plan)
        expected_steps = model
        if store == "SQLite":
            expected_steps = {step.removesuffix(", commits") for step in model if not step.startswith("wait ")}
        problems += [f"in the model but not in {store}: {step}" for step in sorted(expected_steps - steps)]
        problems += [f"in {store} but not in the model: {step}" for step in sorted(steps - expected_steps)]
    waits = sum(step.startswith("wait ") for step in model)
    summary = [f"{len(expected) + 1} constants, {len(model) - waits} steps and {waits} ends of a wait compared"]
    print("\n".join(problems + summary + [f"{name}: {why}" for name, why in WITHOUT_COUNTERPART.items()]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

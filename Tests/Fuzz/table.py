#!/usr/bin/env python3
"""Prints the results of a run of the fuzzer as a Markdown table; fails if an input crashed.

    table.py FOLDER PROGRAM TARGET…
"""
import re
import sys
from pathlib import Path


def last(pattern, text, default="0"):
    found = re.findall(pattern, text)
    return found[-1] if found else default


def main(folder, program, *targets):
    folder = Path(folder)
    rows, failed, total, seconds = [], [], 0, 0
    for target in targets:
        log = (folder / "logs" / target).read_text(errors="replace")
        status = (folder / "logs" / f"{target}.status").read_text().strip()
        processor = sum(map(float, (folder / "logs" / f"{target}.cpu").read_text().split()[-2:]))
        if status != "0":
            failed.append((target, log))
        executions = last(r"stat::number_of_executed_units: (\d+)", log, last(r"^#(\d+)", log))
        edges = last(r" cov: (\d+)", log)
        total, seconds = total + int(executions), seconds + processor
        rows.append([
            target, f"{int(executions):,}", last(r"exec/s: (\d+)", log), f"{int(edges):,}",
            last(r" corp: (\d+)", log), f"{processor:.0f} s", last(r"stat::peak_rss_mb: +(\d+)", log),
            "passed" if status == "0" else "FAILED",
        ])
    header = ["target", "executions", "per second", "edges", "inputs", "processor time", "peak MB", "result"]
    widths = [max(len(row[column]) for row in [header] + rows) for column in range(len(header))]
    for row in [header, ["-" * width for width in widths]] + rows:
        print(f"| {' | '.join(cell.ljust(width) for cell, width in zip(row, widths))} |")
    edges = last(r"\((\d+) inline 8-bit counters\)", "".join(log for _, log in failed) or log)
    print(f"\nin all: {total:,} executions, {seconds / 3600:.2f} hours of processor time; of {int(edges):,} edges in "
          "the project's code that the program links")
    for target, log in failed:
        print(f"\n{target} failed:", *log.splitlines()[-40:], sep="\n", file=sys.stderr)
        inputs = sorted((folder / "crashes").glob(f"{target}-*"), key=lambda path: path.stat().st_mtime)
        if inputs:
            print(f"\nReproduce it with: {program} {target} {inputs[-1]}\nMake it shorter with: {program} {target} "
                  f"-minimize_crash=1 -max_total_time=60 {inputs[-1]}", file=sys.stderr)
    return 1 if failed else 0


sys.exit(main(*sys.argv[1:]))

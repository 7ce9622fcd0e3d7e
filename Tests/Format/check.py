#!/usr/bin/env python3
"""Fails if a line of code has more than 120 characters, or a line of prose in Markdown more than 100.

Code is Swift, Python, shell, templates, styles, mutants and scenarios. `swift format` applies its lineLength to code
only: it breaks neither strings nor comments. Tables, code blocks and lines without a space in Markdown are exempt,
because they cannot be broken.
"""
import subprocess, sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = ("*.swift", "*.py", "*.sh", "*.mustache", "*.css", "*.mutants", "Tests/Scenarios/*.yaml")
PROSE = ("*.md",)


def files(patterns):
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).exists()]


def prose(lines):
    """Yields the numbered lines of prose."""
    is_code = False
    for number, line in lines:
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code and not line.startswith(("|", "    ")) and " " in line.strip():
            yield number, line


def main():
    problems = []
    for patterns, limit, kept in [(CODE, 120, lambda lines: lines), (PROSE, 100, prose)]:
        for path in files(patterns):
            for number, line in kept(enumerate(path.read_text(encoding="utf-8").split("\n"), 1)):
                if len(line) > limit:
                    place = f"{path.relative_to(ROOT)}:{number}"
                    problems.append(f"{place}: {len(line)} characters; break the line before {limit + 1}")
    print("\n".join(problems) or "line lengths: ok")
    sys.exit(1 if problems else 0)


main()

#!/usr/bin/env python3
"""Writes a lab's settings as a configuration independent of its folder: `config show --json LAB | … [NAME=VALUE …]`."""

import itertools
import json
import sys


def quoted(value):
    if value.startswith("["):
        return "[" + ", ".join("'" + part + "'" for part in value[1:-1].split(", ") if part) + "]"
    return "'" + value + "'"


def main():
    settings = {
        one["name"]: one["value"]
        for one in json.load(sys.stdin)["settings"]
        # Default paths are relative to the lab's own configuration file, so they are left out.
        if one["source"] == "file" or one["value"].startswith("/")
    }
    settings.update(word.split("=", 1) for word in sys.argv[1:])
    for section, names in itertools.groupby(sorted(settings), lambda name: name.split(".")[0]):
        print(f"{section}:")
        for name in names:
            print(f"  {name.split('.')[1]}: {quoted(settings[name])}")


main()

#!/usr/bin/env python3
"""Generates a program's manual page from its argument parser's description (--experimental-dump-help)."""

import json
import subprocess
import sys


def escaped(text):
    """Escapes text for roff, so that it contains no requests and no escapes."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in text.split("\n"))


def prose(text):
    """Formats paragraphs; indented text is kept verbatim."""
    lines = []
    literal = False
    for line in text.strip("\n").split("\n"):
        indented = line.startswith("  ")
        if indented and not literal:
            lines += [".PP", ".nf"]
        if literal and not indented and line:
            lines.append(".fi")
        literal = indented or (literal and not line)
        if not line and not literal:
            lines.append(".PP")
        elif line or literal:
            lines.append(escaped(line))
    return lines + ([".fi"] if literal else [])


def name_of(argument):
    value = argument.get("valueName", "value")
    if argument["kind"] == "positional":
        return f"\\fI{escaped(value)}\\fR"
    names = ", ".join(
        "\\fB" + escaped(("--" if name["kind"] == "long" else "-") + name["name"]) + "\\fR"
        for name in sorted(argument.get("names", []), key=lambda name: len(name["name"]))
    )
    return names if argument["kind"] == "flag" else f"{names} \\fI{escaped(value)}\\fR"


def synopsis(command, path):
    words = ["\\fB" + escaped(" ".join(path)) + "\\fR"]
    arguments = [one for one in command.get("arguments", []) if one.get("shouldDisplay", True)]
    if any(one["kind"] != "positional" for one in arguments):
        words.append("[\\fIoptions\\fR]")
    for one in arguments:
        if one["kind"] == "positional":
            word = name_of(one) + (" ..." if one.get("isRepeating") else "")
            words.append(f"[{word}]" if one.get("isOptional") else word)
    if command.get("subcommands"):
        words.append("\\fIcommand\\fR ...")
    return " ".join(words)


def describe(command, path, lines, depth):
    if depth:
        heading, abstract = escaped(" ".join(path[1:])), escaped(command.get("abstract", ""))
        lines += [f'.SS "{heading}"', synopsis(command, path), ".PP", abstract]
    if command.get("discussion"):
        lines += [".PP"] + prose(command["discussion"])
    for one in command.get("arguments", []):
        names = {name["name"] for name in one.get("names", [])}
        if not one.get("shouldDisplay", True) or (depth and names & {"help", "version"}):
            continue
        text = " ".join(filter(None, [one.get("abstract", ""), one.get("discussion", "")]))
        if one.get("defaultValue"):
            text += f" (default: {one['defaultValue']})"
        lines += [".TP", name_of(one), escaped(text)]
    for below in command.get("subcommands", []):
        if below["commandName"] != "help" and below.get("shouldDisplay", True):
            if depth == 0 and ".SH COMMANDS" not in lines:
                lines.append(".SH COMMANDS")
            describe(below, path + [below["commandName"]], lines, depth + 1)


def main():
    program, version, date = sys.argv[1:4]
    dump = subprocess.run([program, "--experimental-dump-help"], check=True, capture_output=True, text=True).stdout
    command = json.loads(dump)["command"]
    name = command["commandName"]
    lines = [
        f'.TH {name.upper()} 1 "{date}" "remote-pin {version}" "User Commands"',
        ".SH NAME",
        f'{escaped(name)} \\- {escaped(command.get("abstract", "").rstrip(".").replace(chr(10), " "))}',
        ".SH SYNOPSIS",
        synopsis(command, [name]),
        ".SH DESCRIPTION",
    ]
    describe(command, [name], lines, 0)
    lines += [".SH SEE ALSO", "The pages in /usr/share/doc/remote\\-pin\\-server."]
    print("\n".join(lines))


main()

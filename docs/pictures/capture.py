#!/usr/bin/env python3
"""Runs `wallet app` in a separate terminal against a running lab, and writes its screens as an SVG.

    docs/pictures/capture.py LAB [PROGRAMS]    # writes docs/pictures/app.svg; needs tmux

Nothing is drawn by hand: the pictures are tmux's captures, colors included.
"""
import html, os, re, subprocess, sys, tempfile, time

COLUMNS, ROWS, PIN = 62, 22, "024791"
COLORS = {"33": "#e5c07b", "34": "#61afef", "36": "#56b6c2"}
STEPS = [  # keys, what to wait for, whether to keep a picture
    ("", "Introduction (1/3)", False), ("s", "Privacy", False), ("n", "Choose PIN", False), (PIN, "Repeat PIN", False),
    (PIN, "Configure Biometrics", False), ("e", "asks", True), ("m", "secured", False), ("n", "deletion code", True),
    ("i", "Obtain PID", False), ("b", "background", False), ("q", "$", False),
]


def tmux(*arguments):
    command = ["tmux", "-L", f"picture{os.getpid()}", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def wait_for(word):
    for _ in range(200):
        if word in tmux("capture-pane", "-p"):
            return
        time.sleep(0.05)
    sys.exit(f"{word!r} did not appear:\n" + tmux("capture-pane", "-p"))


def text(line, x, y):
    """One row of a capture as tspans: SGR codes become weights, opacities and colors."""
    out, style = [], ""
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        codes = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
        if not codes:
            if part:
                out.append(f'<tspan {style} xml:space="preserve">{html.escape(part)}</tspan>')
            continue
        for code in codes[1].split(";"):
            if code in ("", "0", "39"):
                style = "" if code != "39" else re.sub(r' ?fill="[^"]*"', "", style)
            elif code == "1":
                style += ' font-weight="bold"'
            elif code == "2":
                style += ' fill-opacity="0.55"'
            elif code in COLORS:
                style += f' fill="{COLORS[code]}"'
    return f'<text x="{x}" y="{y}">{"".join(out)}</text>' if out else ""


def svg(pictures):
    width, height = COLUMNS * 8.43 + 24, ROWS * 18 + 24
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * width + 16:.0f}" height="{height}" '
        'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14" fill="#d7dae0">'
    ]
    for number, picture in enumerate(pictures):
        left = number * (width + 16)
        rows.append(f'<rect x="{left:.0f}" width="{width:.0f}" height="{height}" rx="8" fill="#1e2127"/>')
        for row, line in enumerate(picture.split("\n")):
            rows.append(text(line, f"{left + 12:.0f}", 28 + row * 18))
    return "\n".join(filter(None, rows)) + "\n</svg>\n"


def main(lab, programs=".build/debug"):
    pictures = []
    with tempfile.TemporaryDirectory() as folder:
        app = f"{programs}/wallet app --lab {lab} --home {folder}/phone --platform ios --biometrics face"
        shell = ["env", "LC_ALL=C.UTF-8", "sh", "-c", f"{app}; echo $; read x"]
        tmux("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), *shell)
        try:
            for keys, word, is_kept in STEPS:
                if keys:
                    tmux("send-keys", "-l", keys)
                wait_for(word)
                if is_kept:
                    time.sleep(0.4)
                    pictures.append(tmux("capture-pane", "-p", "-e"))
        finally:
            tmux("kill-server")
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "app.svg"), "w", encoding="utf-8") as file:
        file.write(svg(pictures))


main(*sys.argv[1:])

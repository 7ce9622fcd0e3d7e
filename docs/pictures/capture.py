#!/usr/bin/env python3
"""Makes the pictures beside this file; nothing is drawn by hand.

    docs/pictures/capture.py LAB [PROGRAMS]    # writes app.svg and load.svg; needs tmux
    docs/pictures/capture.py                   # writes load.svg

app.svg has tmux's captures of `wallet app`, which runs in a separate terminal against the running lab, colors included.
load.svg has figures and plots of the page that the tests of the load report compare.
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


def report_svg(page):
    """The head of a report of pin-load: verdict, figures, and two of its plots, in the page's own colors."""
    style = page[page.index(":root"):page.index("* { box")] + page[page.index(".line {"):page.index(".hint {")]
    font = 'text { font-family: system-ui, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; }'
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 780 410"><style>{style}{font}</style>',
        '<rect width="780" height="410" rx="8" fill="var(--paper)"/>',
    ]

    def write(x, y, size, text, color="ink", weight="normal"):
        fill = f'style="fill: var(--{color})" font-size="{size}" font-weight="{weight}"'
        rows.append(f'<text x="{x}" y="{y}" {fill}>{text}</text>')

    def card(x, y, width, height):
        rows.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="var(--card)"/>')

    result, verdict = re.search(r'class="verdict (\w+)">(.*?)</p>', page).groups()
    color = "good" if result == "passed" else "bad"
    verdict = verdict.replace(" <small>", ": ").replace("</small>", "")
    write(16, 32, 20, f'PIN load <tspan style="fill: var(--{color})" font-size="14">{verdict}</tspan>', weight="bold")
    write(16, 52, 12, re.search(r'class="about">(.*?) · <time', page)[1], "soft")
    tiles = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd><dd class=\"detail\">(.*?)</dd>", page)
    kept = [tile for tile in tiles if tile[0] in ("verdicts", "p50", "p99", "violations")]
    for number, (name, value, detail) in enumerate(kept):
        x = 16 + number * 189
        card(x, 64, 181, 62)
        write(x + 10, 81, 11, name, "soft")
        write(x + 10, 102, 18, value, weight="bold")
        write(x + 10, 118, 11, detail, "soft")
    for number, figure in enumerate(re.findall(r"<figure>(.*?)</figure>", page, re.S)[:2]):
        x = 16 + number * 378
        card(x, 134, 370, 262)
        write(x + 10, 153, 13, re.search(r"<h2>(.*?)</h2>", figure)[1], weight="bold")
        place = x + 10
        for key, name in re.findall(r'(<path class="line[^>]*/>)</svg>(.*?)</li>', figure):
            rows.append(f'<g transform="translate({place} 160)">{key}</g>')
            write(place + 28, 168, 11, name, "soft")
            place += 40 + 6 * len(name)
        plot = figure[figure.rindex("<g class"):figure.rindex("</svg>")]
        rows.append(f'<g transform="translate({x + 5} 172) scale(.97)">')
        rows.append(re.sub(r'<rect class="hint".*?</rect>|<title>.*?</title>', "", plot, flags=re.S).strip() + "</g>")
    return "\n".join(rows) + "\n</svg>\n"


def app_svg(lab, programs=".build/debug"):
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
    return svg(pictures)


def main(*arguments):
    here = os.path.dirname(os.path.abspath(__file__))
    with open(f"{here}/../../Tests/LoadReportTests/Goldens/sample.html", encoding="utf-8") as file:
        made = {"load.svg": report_svg(file.read())}
    if arguments:
        made["app.svg"] = app_svg(*arguments)
    for name, text in made.items():
        with open(f"{here}/{name}", "w", encoding="utf-8") as file:
            file.write(text)


main(*sys.argv[1:])

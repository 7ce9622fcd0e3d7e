#!/usr/bin/env python3
"""Checks the HTML report of a load run in headless Chromium: light and dark, desktop and phone.

    report.py PAGE.html SCREENSHOT-FOLDER
"""
import itertools, pathlib, sys
from look import Browser

PLOTS = ["Rate over time, per second", "Latency over time", "Latency by percentile", "Busy cores over time"]
# The heading, lines, position and accessible name of each plot, and the number of overlapping labels.
DRAWN = """
return [...document.querySelectorAll('figure')].map(figure => {
  const svg = figure.querySelector('svg[role=img]'), frame = svg.getBoundingClientRect();
  const lines = [...svg.querySelectorAll('path.line')].filter(p => p.getTotalLength() > 0);
  const inside = lines.every(p => { const b = p.getBoundingClientRect();
    return b.left >= frame.left - 1 && b.right <= frame.right + 1 &&
      b.top >= frame.top - 1 && b.bottom <= frame.bottom + 1 });
  const texts = [...svg.querySelectorAll('text')].map(t => t.getBoundingClientRect()).filter(b => b.width > 0);
  const lap = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2;
  const name = (svg.getAttribute('aria-labelledby') || '').split(' ')
    .map(id => document.getElementById(id)?.textContent || '');
  return {heading: figure.querySelector('h2').textContent, width: frame.width, height: frame.height,
    lines: lines.length, length: Math.max(0, ...lines.map(p => p.getTotalLength())), inside, name,
    laps: texts.flatMap((a, i) => texts.slice(i + 1).filter(b => lap(a, b))).length}
})
"""
LOADED = "return performance.getEntriesByType('resource').map(e => e.name)"


def look_at(browser, page):
    for scheme, size in itertools.product(("light", "dark"), ("desk", "phone")):
        browser.dress(scheme, size)
        browser.driver.get(page.resolve().as_uri())
        found = browser.measured()
        where = f"{scheme} {size}: {found}"
        assert found["headings"] == 1 and not found["scripts"] and found["title"], where
        plots, loaded = browser.ask(DRAWN), browser.ask(LOADED)
        assert not loaded, loaded
        assert [plot["heading"] for plot in plots] == PLOTS, plots
        for plot in plots:
            assert plot["width"] >= 300 and plot["height"] >= 150 and plot["lines"] > 0, plot
            assert plot["length"] > 100 and plot["inside"] and not plot["laps"], plot
            assert len(plot["name"]) == 2 and all(plot["name"]), plot
        browser.ends("report", where)


if __name__ == "__main__":
    path, folder = sys.argv[1:]
    browser = Browser(folder)
    try:
        look_at(browser, pathlib.Path(path))
    finally:
        browser.driver.quit()

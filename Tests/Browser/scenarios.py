#!/usr/bin/env python3
"""Checks the HTML report of scenarios in headless Chromium: light and dark, desktop and phone, with the keyboard.

    scenarios.py FOLDER-OF-THE-REPORT SCREENSHOT-FOLDER
"""
import itertools, pathlib, sys
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from look import Browser

# The rows of each screen that are wider than their screen, or the frame of a phone that is not straight.
CROOKED = """
return [...document.querySelectorAll('pre.screen')].filter(pre => {
  const rows = pre.textContent.split('\\n').filter(row => row.includes('│')).map(row => [...row].length);
  return new Set(rows).size !== 1 || pre.getBoundingClientRect().width > pre.parentElement.clientWidth + 1
}).length
"""
LOADED = "return performance.getEntriesByType('resource').map(e => e.name)"
FOCUS = """
const e = document.activeElement
return [e.tagName, e.textContent.trim().slice(0, 40), e.getAttribute('href')]
"""


def look_at(browser, folder):
    pages = sorted(folder.glob("[0-9]*.html"))
    failed = next(page for page in pages if "step failed" in page.read_text())
    for scheme, size in itertools.product(("light", "dark"), ("desk", "phone")):
        for name, page in (("list", folder / "index.html"), ("passed", pages[0]), ("failed", failed)):
            browser.dress(scheme, size)
            browser.driver.get(page.resolve().as_uri())
            found = browser.measured()
            where = f"{name} {scheme} {size}: {found}"
            assert found["headings"] == 1 and not found["scripts"] and found["title"] and not found["small"], where
            assert not browser.ask(LOADED) and not browser.ask(CROOKED), where
            browser.ends(f"scenarios-{name}", where)
    with_keys(browser, folder, failed)


def with_keys(browser, folder, failed):
    """Opens a scenario, its failed step and the next scenario without a mouse."""
    browser.dress("light", "desk")
    browser.driver.get((folder / "index.html").resolve().as_uri())
    press(browser, Keys.TAB, until=lambda focus: focus[2] == failed.name)
    press(browser, Keys.ENTER)
    assert browser.driver.current_url.endswith(failed.name), browser.driver.current_url
    press(browser, Keys.TAB, until=lambda focus: focus[1] == "Go to the step")
    press(browser, Keys.ENTER)
    assert "#step-" in browser.driver.current_url, browser.driver.current_url
    step = browser.driver.find_element(By.CSS_SELECTOR, "section.step.failed")
    assert browser.ask("return document.querySelector('section.step.failed').getBoundingClientRect().top < innerHeight")
    assert step.find_elements(By.TAG_NAME, "mark"), "the difference is not marked"
    press(browser, Keys.TAB, until=lambda focus: focus[0] == "SUMMARY")
    opened = browser.ask("return document.activeElement.parentElement.open")
    press(browser, Keys.ENTER)
    assert browser.ask("return document.activeElement.parentElement.open") != opened, "the log does not open"


def press(browser, key, until=None):
    for _ in range(400):
        browser.driver.switch_to.active_element.send_keys(key)
        if until is None or until(browser.ask(FOCUS)):
            return
    sys.exit(f"the keyboard does not reach it; it ended at {browser.ask(FOCUS)}")


if __name__ == "__main__":
    report, pictures = sys.argv[1:]
    browser = Browser(pictures)
    try:
        look_at(browser, pathlib.Path(report))
    finally:
        browser.driver.quit()

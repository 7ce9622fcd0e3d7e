#!/usr/bin/env python3
"""The deletion portal in headless Chromium, without scripts: what people see, can do and hear.

    browser.py URL FOLDER-FOR-PICTURES pages CODE | away CODE | limited

Each page is looked at in both languages, light and dark, on a desk and on a phone.
"""
import itertools, shutil, sys
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

SIZES = {"desk": (1280, 900, 1), "phone": (390, 844, 2)}
HEADINGS = {
    "en": {"form": "Delete your NL Wallet", "question": "Do you want to delete this wallet?",
           "done": "Your NL Wallet was deleted", "away": "This is not possible right now",
           "limited": "Too many wrong codes"},
    "nl": {"form": "Verwijder je NL Wallet", "question": "Wil je deze wallet verwijderen?",
           "done": "Je NL Wallet is verwijderd", "away": "Dit kan nu niet", "limited": "Te veel verkeerde codes"},
}
# What every person must be able to read (WCAG 2.2, 1.4.3) and reach without scrolling sideways (1.4.10).
CHECKS = """
const channel = c => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4 };
const parse = t => t.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const ground = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
  if (c.length < 4 || c[3] > 0) return c } return parse(getComputedStyle(document.documentElement).colorScheme
  .includes('dark') && matchMedia('(prefers-color-scheme: dark)').matches ? '0 0 0' : '255 255 255') };
const weak = [];
for (const e of document.body.querySelectorAll('*')) {
  const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  if (!own || !e.checkVisibility()) continue;
  const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) weak.push(`${e.tagName} "${e.textContent.trim().slice(0, 30)}" ${ratio.toFixed(2)}`);
}
const small = [...document.querySelectorAll('button, nav a, .button, input[type=text]')]
  .filter(e => e.getBoundingClientRect().height < 44).map(e => e.outerHTML.slice(0, 60));
return {weak, small, wide: document.documentElement.scrollWidth > window.innerWidth,
  focused: document.activeElement.tagName, heading: document.querySelector('h1').textContent,
  headings: document.querySelectorAll('h1').length, language: document.documentElement.lang,
  scripts: document.scripts.length, cookies: document.cookie, title: document.title}
"""


class Browser:
    def __init__(self, url, folder):
        options = webdriver.ChromeOptions()
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                         "--ignore-certificate-errors", "--force-color-profile=srgb"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        options.binary_location = shutil.which("chromium")
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
        self.url, self.folder = url, folder
        self.look = ("en", "light", "desk")

    def dress(self, language, scheme, size):
        self.look = (language, scheme, size)
        width, height, scale = SIZES[size]
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                     mobile=size == "phone")
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.command("Emulation.setScriptExecutionDisabled", value=True)

    def command(self, name, **arguments):
        return self.driver.execute_cdp_cmd(name, arguments)

    def open(self, path):
        self.driver.get(self.url + path)

    def type(self, code):
        field = self.driver.find_element(By.ID, "code")
        field.clear()
        field.send_keys(code)
        self.press("check")

    def press(self, step):
        self.click(f"main button[value={step}]")

    def click(self, selector):
        """Clicks what leads to another page, and waits until it is there."""
        before = self.driver.find_element(By.TAG_NAME, "html")
        self.driver.find_element(By.CSS_SELECTOR, selector).click()
        WebDriverWait(self.driver, 20).until(lambda _: self.is_gone(before))

    @staticmethod
    def is_gone(element):
        # Not only as stale: the driver has several words for it.
        try:
            element.is_enabled()
        except WebDriverException:
            return True
        return False

    def heard(self):
        """The field as a screen reader has it: name, description, whether it is wrong."""
        for node in self.command("Accessibility.getFullAXTree")["nodes"]:
            if node.get("role", {}).get("value") == "textbox":
                wrong = [p["value"]["value"] for p in node["properties"] if p["name"] == "invalid"]
                return node["name"]["value"], node.get("description", {}).get("value", ""), wrong
        raise AssertionError("there is no field")

    def check(self, page, focused, picture=None):
        language, scheme, size = self.look
        # Scripts are on for the look alone; the page has none.
        self.command("Emulation.setScriptExecutionDisabled", value=False)
        found = self.driver.execute_script(CHECKS)
        self.command("Emulation.setScriptExecutionDisabled", value=True)
        where = f"{picture or page} {language} {scheme} {size}: {found}"
        assert found["heading"] == HEADINGS[language][page] and found["headings"] == 1, where
        assert found["language"] == language and not found["scripts"] and not found["cookies"], where
        assert not found["weak"] and not found["small"] and not found["wide"], where
        assert found["focused"] == focused, where
        width, height, scale = SIZES[size]
        self.command("Emulation.setDeviceMetricsOverride", width=320, height=height, deviceScaleFactor=1, mobile=True)
        self.command("Emulation.setScriptExecutionDisabled", value=False)
        assert not self.driver.execute_script(CHECKS)["wide"], f"{where}: too wide for 320 pixels"
        self.dress(*self.look)
        self.driver.save_screenshot(f"{self.folder}/{picture or page}-{language}-{scheme}-{size}.png")
        noise = [line for line in self.driver.get_log("browser") if "favicon" not in line["message"]
                 and "the server responded with a status of" not in line["message"]]
        assert not noise, f"{where}: {noise}"


def looks():
    return itertools.product(("en", "nl"), ("light", "dark"), ("desk", "phone"))


def pages(browser, code):
    typed = code.replace("-", " ").lower()
    for look in looks():
        language = look[0]
        browser.dress(*look)
        browser.open(f"/{language}")
        browser.check("form", "BODY")
        name, description, wrong = browser.heard()
        assert name in ("Deletion code", "Verwijdercode") and "XXXX" in description and wrong == ["false"], (name, wrong)
        browser.type("")
        browser.check("form", "INPUT", "missing")
        assert browser.heard()[2] == ["true"]
        browser.type("0123-4567-89AB-CDEF-GH")
        browser.check("question", "H1", "question-wrong")
        browser.press("delete")
        browser.check("form", "INPUT", "wrong")
        name, description, wrong = browser.heard()
        assert "XXXX" in description and ("wrong" in description or "klopt" in description) and wrong == ["true"]
        assert browser.driver.title.startswith(("Error: ", "Fout: "))
        assert code not in browser.driver.page_source
        browser.type(typed)
        browser.check("question", "H1")
        assert code in browser.driver.find_element(By.TAG_NAME, "code").text
        browser.press("back")
        assert browser.driver.find_element(By.ID, "code").get_attribute("value") == code
        browser.press("check")
        # The other language and back, on the question itself.
        for _ in range(2):
            browser.click("nav button")
        browser.check("question", "H1")
        browser.press("delete")
        browser.check("done", "H1")
        when = browser.driver.find_element(By.TAG_NAME, "time").get_attribute("datetime")
        first = pages.__dict__.setdefault("first", when)
        assert when == first, "repeated, it says the first time"
        browser.click("nav button")
        assert browser.driver.find_element(By.TAG_NAME, "time").get_attribute("datetime") == first
        assert code not in browser.driver.current_url
    browser.driver.back()
    browser.open("/nothing")
    assert browser.driver.find_elements(By.CSS_SELECTOR, "a.button"), "a way out"


def away(browser, code):
    for look in looks():
        browser.dress(*look)
        browser.open(f"/{look[0]}")
        browser.type(code)
        browser.press("delete")
        browser.check("away", "H1")
        browser.press("delete")
        browser.check("away", "H1")


def limited(browser):
    # Eight codes were wrong before.
    browser.dress("en", "light", "desk")
    for _ in range(2):
        browser.open("/en")
        browser.type("not a code at all")
        browser.press("delete")
        browser.check("form", "INPUT", "wrong")
    for look in looks():
        browser.dress(*look)
        browser.open(f"/{look[0]}")
        browser.type("0123456789ABCDEFGH")
        browser.check("limited", "H1")


if __name__ == "__main__":
    url, folder, part, *rest = sys.argv[1:]
    browser = Browser(url, folder)
    try:
        {"pages": pages, "away": away, "limited": limited}[part](browser, *rest)
    finally:
        browser.driver.quit()

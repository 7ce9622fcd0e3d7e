#!/usr/bin/env python3
"""The deletion portal in headless Chromium, without scripts: what people see, can do and hear.

    portal.py URL FOLDER-FOR-PICTURES pages CODE | away CODE | limited

Each page is looked at in both languages, light and dark, on a desk and on a phone.
"""
import itertools, sys
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait
from look import Browser

HEADINGS = {
    "en": {"form": "Delete your NL Wallet", "question": "Do you want to delete this wallet?",
           "done": "Your NL Wallet was deleted", "away": "This is not possible right now",
           "limited": "Too many wrong codes"},
    "nl": {"form": "Verwijder je NL Wallet", "question": "Wil je deze wallet verwijderen?",
           "done": "Je NL Wallet is verwijderd", "away": "Dit kan nu niet", "limited": "Te veel verkeerde codes"},
}


class Portal(Browser):
    def __init__(self, folder, url):
        super().__init__(folder)
        self.url = url

    def wear(self, language, scheme, size):
        self.language = language
        self.dress(scheme, size)

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
        language = self.language
        found = self.measured()
        where = f"{picture or page} {language} {self.look}: {found}"
        assert found["heading"] == HEADINGS[language][page] and found["headings"] == 1, where
        assert found["language"] == language and not found["scripts"] and not found["cookies"], where
        assert not found["small"], where
        assert found["focused"] == focused, where
        self.ends(f"{picture or page}-{language}", where)


def looks():
    return itertools.product(("en", "nl"), ("light", "dark"), ("desk", "phone"))


def pages(browser, code):
    typed = code.replace("-", " ").lower()
    for look in looks():
        language = look[0]
        browser.wear(*look)
        browser.open(f"/{language}")
        browser.check("form", "BODY")
        name, description, wrong = browser.heard()
        assert name in ("Deletion code", "Verwijdercode") and "XXXX" in description, (name, description)
        assert wrong == ["false"], wrong
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
        browser.wear(*look)
        browser.open(f"/{look[0]}")
        browser.type(code)
        browser.press("delete")
        browser.check("away", "H1")
        browser.press("delete")
        browser.check("away", "H1")


def limited(browser):
    # Eight codes were wrong before.
    browser.wear("en", "light", "desk")
    for _ in range(2):
        browser.open("/en")
        browser.type("not a code at all")
        browser.press("delete")
        browser.check("form", "INPUT", "wrong")
    for look in looks():
        browser.wear(*look)
        browser.open(f"/{look[0]}")
        browser.type("0123456789ABCDEFGH")
        browser.check("limited", "H1")


if __name__ == "__main__":
    url, folder, part, *rest = sys.argv[1:]
    browser = Portal(folder, url)
    try:
        {"pages": pages, "away": away, "limited": limited}[part](browser, *rest)
    finally:
        browser.driver.quit()

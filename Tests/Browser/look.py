"""A page in headless Chromium, without scripts: how it looks, and what is wrong with it for people."""
import shutil
from selenium import webdriver

SIZES = {"desk": (1280, 900, 1), "phone": (390, 844, 2)}
# What every person must be able to read (WCAG 2.2, 1.4.3) and reach without scrolling sideways (1.4.10).
CHECKS = """
const channel = c => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4 };
const parse = t => t.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const ground = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
  if (c.length < 4 || c[3] > 0) return c } return parse(getComputedStyle(document.documentElement).colorScheme
  .includes('dark') && matchMedia('(prefers-color-scheme: dark)').matches ? '0 0 0' : '255 255 255') };
const ink = e => { const style = getComputedStyle(e); return e instanceof SVGElement ? style.fill : style.color };
const weak = [];
for (const e of document.body.querySelectorAll('*')) {
  const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  if (!own || !e.checkVisibility()) continue;
  const [a, b] = [light(parse(ink(e))), light(ground(e))];
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
    def __init__(self, folder):
        options = webdriver.ChromeOptions()
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                         "--ignore-certificate-errors", "--force-color-profile=srgb"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        options.binary_location = shutil.which("chromium")
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
        self.folder = folder
        self.look = ("light", "desk")

    def dress(self, scheme, size):
        self.look = (scheme, size)
        width, height, scale = SIZES[size]
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                     mobile=size == "phone")
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.command("Emulation.setScriptExecutionDisabled", value=True)

    def command(self, name, **arguments):
        return self.driver.execute_cdp_cmd(name, arguments)

    def ask(self, script):
        """What a script finds; scripts are on for the look alone."""
        self.command("Emulation.setScriptExecutionDisabled", value=False)
        found = self.driver.execute_script(script)
        self.command("Emulation.setScriptExecutionDisabled", value=True)
        return found

    def measured(self):
        """What the page is like."""
        return self.ask(CHECKS)

    def ends(self, picture, where):
        """Keeps a picture if the page is readable, also on 320 pixels, and the browser logged nothing about it."""
        found = self.measured()
        assert not found["weak"] and not found["wide"], where
        _, height, _ = SIZES[self.look[1]]
        self.command("Emulation.setDeviceMetricsOverride", width=320, height=height, deviceScaleFactor=1, mobile=True)
        assert not self.measured()["wide"], f"{where}: too wide for 320 pixels"
        self.dress(*self.look)
        scheme, size = self.look
        self.driver.save_screenshot(f"{self.folder}/{picture}-{scheme}-{size}.png")
        noise = [line for line in self.driver.get_log("browser") if "favicon" not in line["message"]
                 and "the server responded with a status of" not in line["message"]]
        assert not noise, f"{where}: {noise}"

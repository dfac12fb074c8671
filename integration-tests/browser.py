"""A real browser, if the machine has one: Chromium, driven by Selenium."""

from __future__ import annotations

import base64
import os
import shutil
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, TimeoutException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

T = TypeVar("T")
WIDE, NARROW = (1280, 900), (390, 844)
_NAMES = ("chromium", "chromium-browser", "google-chrome")


def missing() -> str:
    """Return the reason why no browser can be started, or "" if one can."""
    if _browser() is None:
        return f"none of {', '.join(_NAMES)} is installed: apt-get install chromium chromium-driver"
    return "" if shutil.which("chromedriver") else "chromedriver is not installed: apt-get install chromium-driver"


def _browser() -> str | None:
    return next((result for name in _NAMES if (result := shutil.which(name))), None)


class Browser:
    """A headless browser window.

    Args:
        url: URL of the console.
    """

    def __init__(self, url: str, dark: bool = False) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = _browser() or ""
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        scheme = "--blink-settings=preferredColorScheme=0" if dark else "--blink-settings=preferredColorScheme=1"
        for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", scheme):
            options.add_argument(argument)
        if os.geteuid() == 0:
            # In a container, the user is root, for which Chromium's sandbox does not work.
            options.add_argument("--no-sandbox")
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.url = url
        self.size(*WIDE)

    def size(self, width: int, height: int) -> None:
        """Set the size of the window. Below a width of 500 pixels, the pages use their layout for phones."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def open(self, fragment: str) -> None:
        """Load a page of the console with a new request."""
        self.driver.get("about:blank")
        self.driver.get(f"{self.url}/{fragment}")

    def all(self, selector: str) -> list[Any]:
        """Return the elements of a selector."""
        return list(self.driver.find_elements(By.CSS_SELECTOR, selector))

    def texts(self, selector: str) -> list[str]:
        """Return the texts of the elements of a selector."""
        script = "return [...document.querySelectorAll(arguments[0])].map((each) => each.textContent)"
        return cast(list[str], self.driver.execute_script(script, selector))

    def until(self, check: Callable[[], T], description: str, seconds: float = 120.0) -> T:
        """Wait until a condition is true, and return its value. If an element disappears, the check is repeated."""
        wait = WebDriverWait(self.driver, seconds, 0.1, [StaleElementReferenceException, IndexError])
        try:
            return wait.until(lambda _: check())
        except TimeoutException as error:
            raise AssertionError(f"not within {seconds:.0f} s: {description}\n{self.main_text()}") from error

    def until_text(self, selector: str, part: str, seconds: float = 120.0) -> None:
        """Wait until an element of a selector has this text."""
        shown = partial(self.texts, selector)
        self.until(lambda: any(part in text for text in shown()), f"{part!r} in {selector}", seconds)

    def click(self, selector: str, text: str = "") -> None:
        """Click the first element of a selector that has this text."""
        self.until(lambda: self._click(selector, text), f"{text!r} in {selector}")

    def _click(self, selector: str, text: str) -> bool:
        """Click an element with this text if it exists, unless the page replaces it before the click."""
        for element in self.all(selector):
            if text in element.text:
                element.click()
                return True
        return False

    def press(self, key: str) -> None:
        """Press a key where the focus is, regardless of the element."""
        ActionChains(self.driver).send_keys(key).perform()

    def main_text(self) -> str:
        """Return the text of the page."""
        return "\n".join(self.texts("main"))[:3_000]

    def complaints(self) -> list[str]:
        """Return errors of the page's code since the last call, without those of rejected requests."""
        logged = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [
            entry["message"]
            for entry in logged
            if entry["level"] == "SEVERE" and "Failed to load resource" not in entry["message"]
        ]

    def picture(self, height: int) -> bytes:
        """Return an image (WebP) of the top part of the page."""
        self.size(self.driver.execute_script("return innerWidth"), height)
        shot = {"format": "webp", "quality": 88, "optimizeForSpeed": False}
        return base64.b64decode(self.driver.execute_cdp_cmd("Page.captureScreenshot", shot)["data"])

    def close(self) -> None:
        """Close the browser."""
        self.driver.quit()

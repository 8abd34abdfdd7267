"""A real browser for tests: headless Chromium, driven by chromedriver's own HTTP protocol (W3C WebDriver), so that no
package is needed for it."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


class Browser:
    """One browser with one page, in a new profile; use it in a `with` block."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> Browser:
        log = open(self.folder / "driver.log", "w+b")
        self.log, self.driver = log, subprocess.Popen([DRIVER, "--port=0"], stdout=log, stderr=subprocess.STDOUT)
        self.address = f"http://127.0.0.1:{self._port()}"
        options = {"binary": BROWSER, "args": [*FLAGS, f"--user-data-dir={self.folder / 'profile'}"]}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        try:
            session = self._post("/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        except BaseException:
            self._end()
            raise
        self.address += f"/session/{session}"
        self._post("/url", {"url": "about:blank"})
        self.requests()  # those of the page that a new window shows
        return self

    def __exit__(self, *error: object) -> None:
        try:
            urllib.request.urlopen(urllib.request.Request(self.address, method="DELETE"), timeout=30).close()
        finally:
            self._end()

    def _end(self) -> None:
        self.driver.terminate()
        self.driver.wait(30)
        self.log.close()

    def _port(self) -> int:
        for _ in range(300):
            text = (self.folder / "driver.log").read_text(errors="replace")
            if found := re.search(r"started successfully on port (\d+)\b", text):  # before that it says "on port 0"
                return int(found[1])
            time.sleep(0.1)
        raise TimeoutError("chromedriver does not start: " + text)

    def _post(self, path: str, body: dict) -> object:
        request = urllib.request.Request(self.address + path, json.dumps(body).encode(), method="POST")
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()) from error

    def tell(self, command: str, **parameters: object) -> object:
        """A command of the DevTools protocol."""
        return self._post("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, path: Path, width: int, scripts: bool = True, dark: bool = False) -> None:
        """Show a file in a window of this width."""
        self.tell(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )
        self.tell("Emulation.setScriptExecutionDisabled", value=not scripts)
        colours = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.tell("Emulation.setEmulatedMedia", features=colours)
        address = path.resolve().as_uri()
        self._post("/url", {"url": address})
        for _ in range(300):  # with scripts off the driver does not wait by itself
            if self.ask("[document.readyState, location.href]") == ["complete", address]:
                return
            time.sleep(0.1)
        raise TimeoutError(f"{path} does not finish loading")

    def ask(self, expression: str) -> object:
        """The value of a JavaScript expression, computed from outside: the page's own scripts may be off."""
        found = self.tell("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def console(self) -> list[str]:
        """What the browser has complained of since the last call."""
        return [entry["message"] for entry in self._post("/se/log", {"type": "browser"})]

    def requests(self) -> list[str]:
        """The addresses that the browser has asked for since the last call."""
        entries = [json.loads(entry["message"])["message"] for entry in self._post("/se/log", {"type": "performance"})]
        return [e["params"]["request"]["url"] for e in entries if e["method"] == "Network.requestWillBeSent"]

    def picture(self, path: Path) -> None:
        """The whole page as PNG."""
        size = self.tell("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.tell("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))

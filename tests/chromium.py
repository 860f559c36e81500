"""A headless Chromium for tests, through chromedriver's own protocol (no package needed)."""

import base64
import json
import shutil
import subprocess
import tempfile
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
]


class Browser:
    """One page of a running browser."""

    def __init__(self, base: str, session: str) -> None:
        self._session = f"{base}/session/{session}"

    def open(self, path: Path) -> None:
        _post(f"{self._session}/url", {"url": path.resolve().as_uri()})

    def run(self, script: str):
        """Return the value of a script's ``return`` statement."""
        return _post(f"{self._session}/execute/sync", {"script": script, "args": []})

    def console(self) -> list[dict]:
        """Messages on the console since the last call, newest last."""
        return _post(f"{self._session}/se/log", {"type": "browser"})

    def resize(self, width: int, height: int) -> None:
        _post(f"{self._session}/window/rect", {"width": width, "height": height})

    def dark(self, on: bool) -> None:
        value = "dark" if on else "light"
        features = [{"name": "prefers-color-scheme", "value": value}]
        body = {"cmd": "Emulation.setEmulatedMedia", "params": {"features": features}}
        _post(f"{self._session}/goog/cdp/execute", body)

    def screenshot(self, path: Path) -> None:
        body = {"cmd": "Page.captureScreenshot", "params": {"captureBeyondViewport": False}}
        answer = _post(f"{self._session}/goog/cdp/execute", body)
        path.write_bytes(base64.b64decode(answer["data"]))


@contextmanager
def browser(width: int = 1400, height: int = 1000):
    """Start a browser with a profile of its own; skip the test where there is none."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("needs Chromium and its driver (Debian: chromium chromium-driver)")
    with tempfile.TemporaryDirectory() as profile:
        process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, text=True)
        try:
            base = f"http://localhost:{_port(process)}"
            flags = [*_FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"]
            wanted = {
                "goog:chromeOptions": {"binary": chromium, "args": flags},
                "goog:loggingPrefs": {"browser": "ALL"},
            }
            answer = _post(f"{base}/session", {"capabilities": {"alwaysMatch": wanted}})
            page = Browser(base, answer["sessionId"])
            try:
                yield page
            finally:
                request = urllib.request.Request(page._session, method="DELETE")
                urllib.request.urlopen(request, timeout=60).close()
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()


def _port(process) -> int:
    for line in process.stdout:
        if "started successfully on port" in line:
            return int(line.split("port")[1].strip(" .\n"))
    raise RuntimeError("chromedriver did not start")


def _post(url: str, body: dict):
    data = json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{url}: {error.read().decode()[:500]}") from None

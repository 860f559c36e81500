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

#: Browsers act on some keys only with the code that Windows gives them.
_KEY_CODES = {"Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


class Browser:
    """One page of a running browser."""

    def __init__(self, base: str, session: str) -> None:
        self._session = f"{base}/session/{session}"

    def open(self, path: Path) -> None:
        self.open_address(path.resolve().as_uri())

    def open_address(self, address: str) -> None:
        _post(f"{self._session}/url", {"url": address})

    def run(self, script: str):
        """Return the value of a script's ``return`` statement."""
        return _post(f"{self._session}/execute/sync", {"script": script, "args": []})

    def run_async(self, script: str):
        """Return what a script passes to the function that is its last argument."""
        return _post(f"{self._session}/execute/async", {"script": script, "args": []})

    def requests(self) -> list[str]:
        """Addresses that were requested since the last call."""
        entries = _post(f"{self._session}/se/log", {"type": "performance"})
        events = [json.loads(entry["message"])["message"] for entry in entries]
        sent = [e["params"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in sent]

    def press(self, *keys: str) -> None:
        """Press keys one after the other; names such as ArrowLeft are those of the event."""
        for key in keys:
            text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
            for kind in ("keyDown", "keyUp"):
                event = {
                    "type": kind,
                    "key": key,
                    "code": key,
                    **(text if kind == "keyDown" else {}),
                }
                event["windowsVirtualKeyCode"] = _KEY_CODES.get(key, 0)
                self.devtools("Input.dispatchKeyEvent", **event)

    def mouse(self, kind: str, x: float, y: float, clicks: int = 1, **more) -> None:
        """Send one mouse event: mousePressed, mouseMoved, mouseReleased or mouseWheel."""
        button = (
            {"button": "left", "buttons": 1, "clickCount": clicks} if kind != "mouseWheel" else {}
        )
        self.devtools("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button, **more)

    def touch(self, kind: str, *points: tuple[float, float]) -> None:
        """Send one touch event, touchStart, touchMove or touchEnd, one finger per point."""
        fingers = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)]
        self.devtools("Input.dispatchTouchEvent", type=kind, touchPoints=fingers)

    def devtools(self, command: str, **parameters):
        body = {"cmd": command, "params": parameters}
        return _post(f"{self._session}/goog/cdp/execute", body)

    def viewport(self, width: int, height: int) -> None:
        """Set the size of the page, which can be narrower than a window."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.devtools("Emulation.setDeviceMetricsOverride", **size)

    def enter_frame(self, number: int | None) -> None:
        """Continue in a frame of the page; None for the page itself."""
        _post(f"{self._session}/frame", {"id": number})

    def console(self) -> list[dict]:
        """Messages on the console since the last call, newest last."""
        return _post(f"{self._session}/se/log", {"type": "browser"})

    def resize(self, width: int, height: int) -> None:
        _post(f"{self._session}/window/rect", {"width": width, "height": height})

    def dark(self, on: bool) -> None:
        value = "dark" if on else "light"
        features = [{"name": "prefers-color-scheme", "value": value}]
        self.devtools("Emulation.setEmulatedMedia", features=features)

    def screenshot(self, path: Path) -> None:
        answer = self.devtools("Page.captureScreenshot", captureBeyondViewport=False)
        path.write_bytes(base64.b64decode(answer["data"]))


@contextmanager
def browser(width: int = 1400, height: int = 1000):
    """Start a browser with a profile of its own; skip the test where there is none."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("needs Chromium and its driver (Debian: chromium chromium-driver)")
    with tempfile.TemporaryDirectory() as profile:
        process, port = _start(driver)
        try:
            base = f"http://localhost:{port}"
            flags = [*_FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"]
            capabilities = {
                "goog:chromeOptions": {"binary": chromium, "args": flags},
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            }
            answer = _post(f"{base}/session", {"capabilities": {"alwaysMatch": capabilities}})
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


def _start(driver: str, attempts: int = 5):
    """Start the driver; return it with its port, which another process may have taken meanwhile."""
    for _ in range(attempts):
        process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, text=True)
        for line in process.stdout:
            if "started successfully on port" in line:
                return process, int(line.split("port")[1].strip(" .\n"))
        process.stdout.close()
        process.wait()
    raise RuntimeError(f"chromedriver did not start, {attempts} times")


def _post(url: str, body: dict):
    data = json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{url}: {error.read().decode()[:500]}") from None

"""A headless Firefox for tests, through its own protocol Marionette (no package needed)."""

import base64
import json
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

_PREFERENCES = {
    "marionette.port": 0,  # any that is free
    "browser.download.folderList": 2,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "app.normandy.enabled": False,
    "app.update.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "data:,",
}
_START, _ANSWER = 60, 120  # seconds to wait


class Firefox:
    """One page of a running browser, with the methods of that of Chromium that tests share."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=_ANSWER)
        self._file = self._socket.makefile("rb")
        self._number = 0
        self._read()
        self._send("WebDriver:NewSession", strictFileInteractability=False)

    def open(self, path: Path) -> None:
        self._send("WebDriver:Navigate", url=path.resolve().as_uri())

    def run(self, script: str):
        """Return the value of a script's ``return`` statement."""
        return self._send("WebDriver:ExecuteScript", script=script, args=[])["value"]

    def run_async(self, script: str):
        """Return what a script passes to the function that is its last argument."""
        return self._send("WebDriver:ExecuteAsyncScript", script=script, args=[])["value"]

    def screenshot(self, path: Path) -> None:
        answer = self._send("WebDriver:TakeScreenshot", full=False)
        path.write_bytes(base64.b64decode(answer["value"]))

    def close(self) -> None:
        self._send("Marionette:Quit", flags=["eForceQuit"])
        self._file.close()
        self._socket.close()

    def _send(self, command: str, **parameters):
        self._number += 1
        message = json.dumps([0, self._number, command, parameters]).encode()
        self._socket.sendall(b"%d:%s" % (len(message), message))
        _, number, error, answer = self._read()
        assert number == self._number
        if error is not None:
            raise RuntimeError(f"{command}: {error['error']}: {error['message'][:500]}")
        return answer

    def _read(self):
        size = b""
        while (byte := self._file.read(1)) != b":":
            if not byte:
                raise RuntimeError("Firefox has closed the connection")
            size += byte
        return json.loads(self._file.read(int(size)))


@contextmanager
def firefox(downloads: Path | None = None):
    """Start Firefox with a profile of its own; skip the test where there is none."""
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        pytest.skip("needs Firefox (Debian: firefox-esr)")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        preferences = {
            **_PREFERENCES,
            **({"browser.download.dir": str(downloads)} if downloads else {}),
        }
        lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});\n" for k, v in preferences.items()]
        (Path(profile) / "user.js").write_text("".join(lines))
        process = subprocess.Popen(
            [program, "--headless", "--no-remote", "--marionette", "--profile", profile],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            page = Firefox(_port(process, Path(profile) / "MarionetteActivePort"))
            yield page
            page.close()
        finally:
            process.terminate()
            process.wait()


def _port(process: subprocess.Popen, path: Path) -> int:
    """Return the port that the browser has written into its profile."""
    for _ in range(_START * 20):
        if process.poll() is not None:
            raise RuntimeError(f"Firefox ended with exit code {process.returncode}")
        if path.exists() and (text := path.read_text().strip()):
            return int(text)
        time.sleep(0.05)
    raise RuntimeError(f"Firefox did not start within {_START} s")

# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A headless Chromium that a test types into, over its debugging pipe (file descriptors 3 and 4)."""
import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time


class Refused(Exception):
    """Chromium does not start here; the text says why."""


class Chromium:
    def __init__(self, seconds=60):
        program = shutil.which("chromium")
        if not program:
            raise Refused("chromium isn't installed (Debian package chromium)")
        self.deadline_seconds = seconds
        self.profile = tempfile.TemporaryDirectory(prefix="verbena-chromium-")
        self.log = open(os.path.join(self.profile.name, "stderr"), "w+", encoding="utf-8", errors="replace")
        # Above 4, so that none of them is in the way of the two that Chromium wants.
        into, self.out = self._pipe()
        self.back, from_it = self._pipe()
        options = ["--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
                   "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
                   "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={self.profile.name}/profile"]
        if os.geteuid() == 0:
            options.append("--no-sandbox")
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{into} 4>&{from_it}', "bash", program, *options, "about:blank"],
            pass_fds=(into, from_it), stdout=subprocess.DEVNULL, stderr=self.log, start_new_session=True)
        os.close(into)
        os.close(from_it)
        self.number = 0
        self.buffer = b""
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    @staticmethod
    def _pipe():
        ends = []
        for end in os.pipe():
            ends.append(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10))
            os.close(end)
        return ends

    def _read(self, until):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.back], [], [], max(0, until - time.monotonic()))
            piece = os.read(self.back, 1 << 20) if ready else b""
            if not piece:
                self.log.seek(0)
                raise Refused(f"chromium {'ended' if ready else 'does not answer'}: {self.log.read()[-2000:]}")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        """The answer to one command; events that arrive meanwhile are kept."""
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if getattr(self, "session", None):
            request["sessionId"] = self.session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        until = time.monotonic() + self.deadline_seconds
        while True:
            message = self._read(until)
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            if "method" in message:
                self.events.append(message)

    def _go(self, url):
        """Until that address is loaded, and not the one before it."""
        self.events = []
        loader = self.call("Page.navigate", url=url)["loaderId"]
        until = time.monotonic() + self.deadline_seconds
        while not any(event["method"] == "Page.lifecycleEvent" and event["params"]["name"] == "load" and
                      event["params"]["loaderId"] == loader for event in self.events):
            message = self._read(until)
            if "method" in message:
                self.events.append(message)

    def open(self, file, fragment="", scheme="light", width=1280, height=900):
        """Loads the file from the disk, as a reader would."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        # Another fragment of the page that is open would load nothing.
        self._go("about:blank")
        self._go(pathlib.Path(file).resolve().as_uri() + fragment)

    def ask(self, expression):
        """The value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39,
            "Home": 36, "End": 35, "PageDown": 34, "PageUp": 33}

    def press(self, *keys):
        """Keys one after the other: a name of KEYS, or one character."""
        for key in keys:
            text = "\r" if key == "Enter" else key if len(key) == 1 else ""
            code = self.KEYS.get(key) or ord(key.upper())
            self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, windowsVirtualKeyCode=code)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def screenshot(self, file):
        picture = self.call("Page.captureScreenshot", format="png")["data"]
        with open(file, "wb") as out:
            out.write(base64.b64decode(picture))

    def complaints(self):
        """What the console showed as an error or a warning, exceptions, and every address that was asked for."""
        self.ask("new Promise(done => setTimeout(done, 50))")
        found = []
        for event in self.events:
            method, params = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                found.append(json.dumps(params["exceptionDetails"]))
            elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                found.append(json.dumps(params["args"]))
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
            elif method == "Network.requestWillBeSent" and not params["request"]["url"].startswith(("file:", "data:")):
                found.append(f"asks for {params['request']['url']}")
            elif method == "Page.javascriptDialogOpening":
                found.append(f"a dialog: {params['message']}")
        return found

    def close(self):
        try:
            self.call("Browser.close")
        except (Refused, OSError, RuntimeError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, 9)
            self.process.wait()
        self.log.close()
        for _ in range(20):
            try:
                self.profile.cleanup()
                return
            except OSError:
                time.sleep(0.1)
        print(f"left behind: {self.profile.name}", file=sys.stderr)

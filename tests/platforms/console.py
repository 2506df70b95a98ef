"""Runs on Windows, by its Python: `console.py COMMAND...` starts a server in a console of its own, shakes hands, has
the console send Ctrl-C, and prints the server's exit status. Wine 8 cannot send Ctrl-Break to it."""

from __future__ import annotations

import ctypes
import json
import signal
import subprocess
import sys

assert sys.platform == "win32"

PATIENCE = 60.0
CTRL_C = 0
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "console", "version": "1"}},
}


def main(command: list[str]) -> None:
    console = ctypes.WinDLL("kernel32", use_last_error=True)
    console.FreeConsole()  # Wine gives one to who is started without
    if not console.AllocConsole():
        raise ctypes.WinError(ctypes.get_last_error())
    signal.signal(signal.SIGINT, lambda *_: None)  # it comes to us too; SIG_IGN would be inherited
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as server:
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(json.dumps(HELLO).encode() + b"\n")
        server.stdin.flush()
        assert b"serverInfo" in server.stdout.readline()
        if not console.GenerateConsoleCtrlEvent(CTRL_C, 0):
            raise ctypes.WinError(ctypes.get_last_error())
        try:
            print(server.wait(PATIENCE))
        except subprocess.TimeoutExpired:
            server.kill()
            print("it goes on")


main(sys.argv[1:])

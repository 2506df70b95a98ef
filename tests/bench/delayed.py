"""This program with HTTP connections as version 1.0 had them: small packets wait for the client's acknowledgement."""

from __future__ import annotations

import sys

from memory_app import cli
from memory_app.server.http import limits

if __name__ == "__main__":
    changed = vars(limits)
    assert "_tune" in changed, "the options of a connection are set elsewhere by now"
    changed["_tune"] = lambda connection: None
    sys.exit(cli.main())

"""`python -m tests.lean ARGUMENT...`: the program from its source with no more packages than the archive holds.

Rules: what the archive leaves out cannot be imported, and `build/absent` stands where it stands there.
"""

from __future__ import annotations

import sys

from build import inputs, pins

MODULES = {"attrs": "attr", "opentelemetry-api": "opentelemetry", "pyjwt": "jwt", "rpds-py": "rpds"}
"""The import names that are not the package's own."""


def leave_out() -> None:
    """From now on. Call it before anything imports the SDK."""
    absent = {path.stem for path in (inputs.ROOT / "build" / "absent").glob("*.py")}
    for package in pins.LEFT_OUT:
        name = MODULES.get(package, package.replace("-", "_"))
        assert name not in sys.modules
        if name not in absent:
            sys.modules[name] = None  # type: ignore[assignment]
    sys.path.insert(0, str(inputs.ROOT / "build" / "absent"))


if __name__ == "__main__":
    leave_out()
    from memory_app.cli import main

    sys.exit(main())

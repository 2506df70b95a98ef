"""What stands for packages that the archive leaves out: it is as much as the SDK takes, and raises when it is used.

That nothing of ours uses it is shown by all tests that run the archive, and by those over HTTP and of a plain import,
which run the source as `tests.lean`.
"""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from build import inputs, pins, platforms, stage
from build.absent import cryptography, opentelemetry
from tests.lean import MODULES


def _imports(source: bytes) -> set[tuple[str, str]]:
    """Module and name of every absolute import."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {(alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found |= {(node.module, alias.name) for alias in node.names}
    return found


def test_what_is_left_out_is_asked_for_only_where_we_know_of_it() -> None:
    """A new version of a package that needs more fails here."""
    left_out = {MODULES.get(name, name.replace("-", "_")) for name in pins.LEFT_OUT}
    asking: dict[str, set[tuple[str, str]]] = {}
    for path, content in stage.stage([platforms.host().name]).pure.items():
        if path.endswith(".py") and path not in ("cryptography.py", "opentelemetry.py"):
            for module, name in _imports(content):
                if module.split(".")[0] in left_out:
                    asking.setdefault(path, set()).add((module, name))
    assert asking.pop("mcp/server/request_state.py") == {
        (f"cryptography.{module}", name) for module, name in cryptography.TAKEN.items()
    }
    traced = [asking.pop(f"mcp/{path}.py") for path in ("server/_otel", "shared/_otel", "shared/jsonrpc_dispatcher")]
    assert set().union(*traced) == {
        (f"opentelemetry.{module}", name) for module, names in opentelemetry.TAKEN.items() for name in names
    }
    assert set(asking) == {
        "httpx2/_transports/__init__.py",  # in a browser alone
        "mcp/client/auth/extensions/client_credentials.py",
        "mcp/client/session.py",
        "starlette/middleware/opentelemetry.py",
    }


def test_it_can_be_imported_and_raises_when_it_is_used() -> None:
    for module, name in cryptography.TAKEN.items():
        code = (
            f"from cryptography.{module} import {name}\n"
            f"try:\n    {name}(b'')\n"
            f"except RuntimeError as problem:\n    print(problem)\n"
            "try:\n    raise ValueError\nexcept getattr(sys.modules['cryptography.exceptions'], 'InvalidTag'): pass\n"
            "except ValueError: print('fine')\n"
        )
        command = [sys.executable, "-c", "import sys\n" + code]
        done = subprocess.run(command, capture_output=True, text=True, cwd=inputs.ROOT / "build" / "absent", check=True)
        assert done.stdout.splitlines() == [
            f"cryptography.{module}.{name} was used, but memory-server.pyz holds no cryptography",
            "fine",
        ]


@pytest.mark.parametrize(
    "wanted", ["from cryptography import x509", "import cryptography.fernet", "from opentelemetry import metrics"]
)
def test_whatever_else_the_sdk_comes_to_need_fails_at_the_import(wanted: str) -> None:
    command = [sys.executable, "-c", wanted]
    done = subprocess.run(command, capture_output=True, text=True, cwd=inputs.ROOT / "build" / "absent", check=False)
    assert "ImportError" in done.stderr or "ModuleNotFoundError" in done.stderr

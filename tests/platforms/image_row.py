"""The built image, by `image.py`, as a row of the table."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.platforms import image
from tests.platforms.fetching import ROOT, Missing, need_programs, need_root
from tests.platforms.results import Job, Row, say

_LONG = 2400.0  # seconds: it builds a base image and the archive


def jobs(archive: Path) -> list[Job]:
    return [Job("container image (buildah, runc)", "CPython", _rows)]


def _rows() -> list[Row]:
    """The image builds the archive by itself, in its first stage; by the same pins it is this one."""
    need_root()
    need_programs({"buildah": "buildah", "debootstrap": "debootstrap", "runc": "runc"})
    say(f"the image {image.IMAGE}, archive as built by its Dockerfile")
    command = [sys.executable, str(Path(image.__file__))]
    done = subprocess.run(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_LONG, check=False
    )
    say("".join(f"  {line}\n" for line in done.stdout.splitlines()).rstrip())
    counts = re.search(r"^(\d+) passed, (\d+) failed$", done.stdout, re.MULTILINE)
    if counts is None:
        last = (done.stderr.strip().splitlines() or done.stdout.strip().splitlines() or ["no word"])[-1]
        raise Missing(f"no image could be built: {last}")
    passed, failed = map(int, counts.groups())
    problems = re.findall(r"^image: (FAILED: [^:]*)", done.stdout, re.MULTILINE)
    return [
        Row(
            "container image (buildah, runc)",
            f"{image.SUITE}'s CPython, in place of {image.BASE.rpartition('/')[2]}",
            passed=passed,
            run=passed + failed,
            note="; ".join(["scenes of its own, see image.py", *problems]),
        )
    ]

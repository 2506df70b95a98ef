"""Servers on file systems of many kinds: what they store stays, and they keep nobody from unmounting.

On each file system that can be had here:

1. three servers write at once: every acknowledged change is there once, and nothing is left beside the memory;
2. another program changes a fact in place, to the same size: no change of ours overwrites that, however coarse the
   clock of the file system is;
3. while the servers run and nobody calls, the file system can be made read-only, and unmounted;
4. a change then is an error that says so, no new memory takes the old one's place, and once it is mounted again the
   servers go on.

`python -m tests.stress.mounted SEED CALLS NAME BROKEN` in a mount namespace of its own: `run` does that.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.driver import Driver
from tests.stress import mounts, servers
from tests.stress.figures import Figures
from tests.stress.mounts import FileSystem

_EACH: Final = 600.0  # seconds for one file system
_AT_REST: Final = 15.0  # seconds after the last call in which nothing may hold the file system any more
_SERVERS: Final = 3
_HELD: Final = ".fuse_hidden"  # what FUSE calls a file that was replaced while it was open


def run(seed: int, calls: int, names: Sequence[str] = (), broken: str = "") -> Figures:
    """So many calls by each server, and so many changes in place. `broken` names a broken server."""
    whole = Figures("file systems")
    whole.skipped = mounts.missing()
    if whole.skipped:
        return whole
    for one in [mounts.BY_NAME[name] for name in names] if names else mounts.FILE_SYSTEMS:
        reason = mounts.missing_for(one)
        if reason:
            whole.remark(f"not {one.name}: {reason}")
            continue
        whole.count("file systems")
        arguments = (str(seed), str(calls), one.name, broken)
        figures = mounts.privately(one.name, "tests.stress.mounted", *arguments, patience=_EACH)
        whole.counts.update(figures.counts)
        whole.losses += figures.losses
        whole.pings += figures.pings
    return whole


class _Proof:
    def __init__(self, one: FileSystem, inside: Path, seed: int, figures: Figures, command: list[str]) -> None:
        self._one = one
        self._image, self._at = inside / "image", inside / "mounted"
        self._at.mkdir()
        self._memory = self._at / "memory.jsonl"
        self._random = random.Random(f"{seed} {one.name}")
        self._figures = figures
        self._command = command
        self._must: list[str] = []

    def run(self, calls: int) -> None:
        mounts.new_image(self._one, self._image)
        mounts.mount(self._one, self._image, self._at)
        drivers = servers.started_together(self._memory, _SERVERS, self._command, self._figures, self._at.parent)
        try:
            self._write_at_once(drivers, calls)
            self._edit_in_place(drivers[0], calls)
            if not self._one.program:
                self._make_read_only(drivers[0])
            self._unmount(drivers)
            for driver in drivers:
                if driver.finish():
                    self._lost(f"a server ended badly: {driver.stderr[-200:]}")
        finally:
            for driver in drivers:
                with driver:
                    pass

    def _lost(self, how: str) -> None:
        self._figures.lost(f"{self._one.name}: {how}")

    def _write_at_once(self, drivers: list[Driver], calls: int) -> None:
        def client(number: int) -> None:
            for call in range(calls):
                name = f"s{number}-{call}"
                answer = drivers[number].answer(drivers[number].start_call("create_entities", servers.entity(name)))
                if servers.is_stored(answer):
                    self._must.append(name)
                elif self._one.program and "nothing but NUL bytes" in str(answer):
                    # fusefat gives them for some tenths of a second after a rename; refusing is all that can be done
                    self._figures.count("refused, since FUSE gave NUL bytes")
                else:
                    self._lost(f"{name} was refused: {answer}")

        threads = [threading.Thread(target=client, args=(number,)) for number in range(len(drivers))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._figures.count("changes", len(self._must))
        self._expect_all("after three servers wrote at once")
        # Where a clock is coarse, a file that another server has just put there may still be written, for all we know.
        kept = (".replaced", ".bak")
        there = {name for name in os.listdir(self._at) if not name.endswith(kept) and not name.startswith(_HELD)}
        left = there - {"memory.jsonl", "memory.jsonl.history", "lost+found"}
        if left:
            self._lost(f"left behind: {sorted(left)}")

    def _is_stored(self, driver: Driver, name: str) -> bool:
        return servers.is_stored(driver.answer(driver.start_call("create_entities", servers.entity(name))))

    def _expect_all(self, when: str) -> None:
        text = self._memory.read_text("utf-8")
        for name in self._must:
            if text.count(f'"name":"{name}"') != 1:
                self._lost(f"{when} {name} is there {text.count(name)} times")

    def _edit_in_place(self, driver: Driver, edits: int) -> None:
        driver.call("create_entities", servers.entity("Edited", "v000"))
        for number in range(edits):
            fact = f"v{self._random.randrange(1000):03}".encode()
            with self._memory.open("r+b") as file:
                file.seek(file.read().index(b'["v') + 2)
                file.write(fact)
            time.sleep(self._random.choice((0, 0, 0.002, 0.02)))  # the other program's own distance
            self._figures.count("changes in place")
            if self._is_stored(driver, f"beside{number}") and fact not in self._memory.read_bytes():
                self._lost(f"a change in place, {number}, was overwritten")

    def _at_rest(self, *command: str) -> bool:
        """Try until nothing holds the file system."""
        until = time.monotonic() + _AT_REST
        while True:
            try:
                mounts.run(*command)
                return True
            except subprocess.CalledProcessError as error:
                if time.monotonic() > until:
                    self._lost(f"{' '.join(command[:3])}: {error.stderr.strip()}")
                    return False
            time.sleep(0.1)

    def _make_read_only(self, driver: Driver) -> None:
        if not self._at_rest("mount", "-o", "remount,ro", str(self._at)):
            return
        before = self._memory.read_bytes()
        if self._is_stored(driver, "refused") or self._memory.read_bytes() != before:
            self._lost("it stored on a file system that is read-only")
        mounts.run("mount", "-o", "remount,rw", str(self._at))
        if not self._is_stored(driver, "written again"):
            self._lost("it does not store once the file system is writable again")

    def _unmount(self, drivers: list[Driver]) -> None:
        before = self._memory.read_bytes()
        if not self._at_rest("umount", str(self._at)):
            return
        self._figures.count("unmounted under running servers", len(drivers))
        for driver in drivers:
            if self._is_stored(driver, "nowhere"):
                self._lost("it stored where the file system had been")
        if os.listdir(self._at):
            self._lost(f"below the mount there is {os.listdir(self._at)}")
        mounts.mount(self._one, self._image, self._at)
        if held := [name for name in os.listdir(self._at) if name.startswith(_HELD)]:
            self._lost(f"replaced files were still held: {held}")
        if self._memory.read_bytes() != before:
            self._lost("the memory is another one after it was mounted again")
        for number, driver in enumerate(drivers):
            if not self._is_stored(driver, f"again{number}"):
                self._lost("it does not go on once the file system is back")


def main(seed: int, calls: int, name: str, broken: str) -> None:
    one = mounts.BY_NAME[name]
    figures = Figures(name)
    inside = Path(tempfile.mkdtemp())
    try:
        _Proof(one, inside, seed, figures, servers.command(broken)).run(calls)
    finally:
        subprocess.run(["umount", "-l", str(inside / "mounted")], capture_output=True, check=False)
        shutil.rmtree(inside)
    mounts.tell(figures)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4])

"""Power cuts on real file systems: what is on the disk when the power fails, mounted and looked at.

A session changes a memory on a file system whose disk writes down each write and each flush (`logged_disk`). For many
moments, what was flushed by then and any part of the rest makes an image; the kernel mounts it as after a power cut:

1. the memory is byte for byte the file of a moment since the last change that was acknowledged;
2. a generation in its history is whole; that of an acknowledged deletion is there if the file system has a journal,
   which alone puts it before the deletion, since the history is not synced by itself;
3. what was kept when another program had cut the file in place is there, as is each backup and export;
4. a program that starts there stores a change, and keeps everything else.

`python -m tests.stress.power_cuts SEED STATES NAME ...` in a mount namespace of its own: `run` does that.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.faults.scenes import applied
from tests.stress import logged_disk, mounts, servers
from tests.stress.figures import Figures
from tests.stress.logged_disk import Write
from tests.stress.mounts import FileSystem

_PATIENCE: Final = 60.0  # seconds for one command of ours
_EACH: Final = 900.0  # seconds for one file system
_START_ON: Final = 8  # of the states, every so many is also started on
_SHARES: Final = (0.0, 0.0, 0.2, 0.5, 0.5, 0.8, 1.0)  # of what was not flushed: on the disk all the same
_AFTER: Final = 200_000  # bytes of the log within which a moment lies close after something that was acknowledged


class Version(NamedTuple):
    """What the memory holds from a place of the log on. `data` None: another program writes in place, anything may be.

    `acknowledged` is the place where it was answered, None if it never was.
    """

    begun: int
    acknowledged: int | None
    data: bytes | None


class Kept(NamedTuple):
    """What has to stand beside the memory from a place of the log on."""

    acknowledged: int
    what: str
    is_there: Callable[[Path], bool]
    needs_a_journal: bool = False


def run(seed: int, states: int, names: Sequence[str] = (), broken: str = "") -> Figures:
    """So many states of each file system that can be had here; all of them without `names`. `broken` names a broken
    server."""
    whole = Figures("power cuts")
    wanted = [mounts.BY_NAME[name] for name in names] if names else mounts.FILE_SYSTEMS
    whole.skipped = mounts.missing() or ("" if os.path.exists("/dev/fuse") else "there is no /dev/fuse")
    if whole.skipped:
        return whole
    for one in wanted:
        reason = "it has no way to sync its disk" if one.program else mounts.missing_for(one)
        if reason:
            whole.remark(f"not {one.name}: {reason}")
            continue
        module = "tests.stress.power_cuts"
        arguments = (str(seed), str(states), one.name, broken)
        figures = mounts.privately(one.name, module, *arguments, patience=_EACH)
        whole.count("file systems")
        whole.counts.update(figures.counts)
        whole.losses += figures.losses
        whole.pings += figures.pings
    return whole


class _Session:
    """The changes, and where in the log each began and was acknowledged."""

    def __init__(self, folder: Path, log: Path, command: list[str], chance: random.Random, figures: Figures) -> None:
        self._folder = folder
        self.memory = folder / "memory.jsonl"
        self._log = log
        self._command = command
        self._random = chance
        self._figures = figures
        self._number = 0
        self.kept: list[Kept] = []
        self.versions = [Version(0, 0, None)]

    def work(self, rounds: int) -> None:
        lines = [
            f'{{"type":"entity","name":"Base{n}","entityType":"t","observations":["{"fact" * (n % 40)}"]}}\n'
            for n in range(60)
        ]
        self._folder.mkdir()
        self.memory.write_text("".join(lines))
        long_ago = time.time() - 3600
        os.utime(self.memory, (long_ago, long_ago))
        subprocess.run(["sync", "-f", str(self._folder)], check=True)
        self.versions.append(Version(0, self._place(), self._present()))
        for number in range(rounds):
            self._changes()
            self._burst_and_kill()
            if number % 2:
                self._written_in_place()
            self._commands()

    def _place(self) -> int:
        return self._log.stat().st_size

    def _present(self) -> bytes:
        return self.memory.read_bytes()

    def _new(self) -> str:
        self._number += 1
        return f"new{self._number}"

    def _changes(self) -> None:
        with servers.started(self.memory, self._command, self._figures) as driver:
            names = [self._new() for _ in range(3)]
            texts = ["o" * self._random.choice((1, 100, 5000)) for _ in names]
            calls: list[tuple[str, dict[str, Any]]] = [
                ("create_entities", servers.entity(name, text)) for name, text in zip(names, texts, strict=True)
            ]
            calls += [
                ("create_relations", {"relations": [{"from": names[0], "to": names[1], "relationType": "r"}]}),
                ("add_observations", {"observations": [{"entityName": names[0], "contents": ["more"]}]}),
                ("delete_observations", {"deletions": [{"entityName": names[0], "observations": ["more"]}]}),
                ("delete_entities", {"entityNames": [names[2]]}),
            ]
            for tool, arguments in calls:
                before, begun = self._present(), self._place()
                answer = driver.answer(driver.start_call(tool, arguments))
                assert servers.is_stored(answer), answer
                self._acknowledge(begun, before if tool.startswith("delete") else None)
            driver.finish()

    def _acknowledge(self, begun: int, generation: bytes | None = None) -> None:
        place = self._place()
        self.versions.append(Version(begun, place, self._present()))
        if generation is not None:
            there = _holds("*.history/*.jsonl", generation)
            self.kept.append(Kept(place, "the generation before a deletion", there, needs_a_journal=True))

    def _burst_and_kill(self) -> None:
        begun, data = self._place(), self._present()
        asked = [servers.entity(self._new(), "burst") for _ in range(6)]
        with servers.started(self.memory, self._command, self._figures) as driver:
            requests = [driver.start_call("create_entities", one) for one in asked]
            for request in requests[: self._random.randrange(5)]:
                assert servers.is_stored(driver.answer(request))
            driver.kill()
        found = self._present()
        for one in asked:
            if data == found:
                break
            data = applied(data, "create_entities", one)
            self.versions.append(Version(begun, None, data))
        assert data == found, "a kill left what nobody asked for"

    def _written_in_place(self) -> None:
        """Another program is caught half-way: emptied, then a change of ours, then its text."""
        before, begun = self._present(), self._place()
        self.versions.append(Version(begun, begun, None))
        with servers.started(self.memory, self._command, self._figures) as driver:
            assert servers.is_stored(driver.answer(driver.start_call("open_nodes", {"names": ["Base1"]})))
            with self.memory.open("wb", buffering=0) as file:
                half = before[: len(before) // 2]
                file.write(half[: half.rindex(b"\n") - 3])
                answer = driver.answer(driver.start_call("create_entities", servers.entity(self._new())))
                assert servers.is_stored(answer), answer
                place = self._place()
                self.kept.append(Kept(place, "what a program cut in place", _holds_lines(before)))
                self.versions.append(Version(begun, place, self._present()))
                file.write(before[len(half) :])
            driver.finish()

    def _commands(self) -> None:
        before = self._place()
        self._run("undo")
        self._acknowledge(before)
        self._run("backup")
        self.kept.append(Kept(self._place(), "a backup", _holds("*.bak", self._present())))
        other = self._folder / "other.jsonl"
        other.write_text(f'{{"type":"entity","name":"{self._new()}","entityType":"t","observations":[]}}\n')
        before = self._place()
        self._run("import", str(other))
        self._acknowledge(before)
        exported = f"{self._new()}.json"
        self._run("export", "--output", str(self._folder / exported))
        self.kept.append(Kept(self._place(), "an export", _holds(exported, (self._folder / exported).read_bytes())))
        before, data = self._place(), self._present()
        self._run("forget", "Base7") if b'"Base7"' in data else self._run("rename", "Base8", self._new())
        self._acknowledge(before, data)
        self._another_shape()

    def _another_shape(self) -> None:
        """A file of another shape is turned into ours: its bytes stand in a backup."""
        path = self._folder / f"{self._new()}.json"
        data = json.dumps({"entities": [{"name": "Doc", "entityType": "t", "observations": ["fact"]}]}).encode()
        path.write_bytes(data)
        subprocess.run(["sync", "-f", str(self._folder)], check=True)
        self._run("call", "create_entities", json.dumps(servers.entity("After")), memory=path)
        after = path.read_bytes()
        self.kept.append(Kept(self._place(), "a file of another shape", _holds(f"{path.name}.*.bak", data)))
        self.kept.append(Kept(self._place(), "the memory made of it", _holds(path.name, after)))

    def _run(self, *arguments: str, memory: Path | None = None) -> None:
        done = _run(self._command, memory or self.memory, *arguments)
        assert done.returncode == 0, (arguments, done.stderr)


def _run(command: list[str], memory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, *arguments],
        env=servers.environment(memory),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )


def _holds(pattern: str, data: bytes) -> Callable[[Path], bool]:
    return lambda folder: any(path.read_bytes() == data for path in folder.glob(pattern))


def _holds_lines(data: bytes) -> Callable[[Path], bool]:
    def is_there(folder: Path) -> bool:
        files = (path for path in folder.rglob("memory.jsonl*") if path.is_file())
        histories = (path for path in folder.glob("memory.jsonl.history/*"))
        found = {line for path in (*files, *histories) for line in path.read_bytes().splitlines()}
        return found.issuperset(data.splitlines())

    return is_there


class _Proof:
    """One file system: its session, then its states."""

    def __init__(self, one: FileSystem, inside: Path, figures: Figures, seed: int, command: list[str]) -> None:
        self._one = one
        self._figures = figures
        self._seed = seed
        self._command = command
        self._base, self._crash, self._log = inside / "base.img", inside / "crash.img", inside / "log"
        self._live, self._disk = inside / "live.img", inside / "disk"
        self._mounted, self._look = inside / "mounted", inside / "look"
        for folder in (self._disk, self._mounted, self._look):
            folder.mkdir()
        self.session = _Session(
            self._mounted / "memory", self._log, command, random.Random(f"{seed} {one.name} session"), figures
        )

    def record(self, rounds: int) -> list[Write]:
        mounts.new_image(self._one, self._base)
        mounts.copy_image(self._base, self._live)
        server = logged_disk.start(self._live, self._disk, self._log)
        try:
            mounts.mount(self._one, self._disk / logged_disk.NAME, self._mounted)
            self.session.work(rounds)
            end = self._log.stat().st_size
            mounts.unmount(self._mounted)
            mounts.unmount(self._disk)
            server.wait(_PATIENCE)
        finally:
            server.kill()
            server.wait()
        self._figures.count("changes", len(self.session.versions) - 2)
        return [record for record in logged_disk.read_log(self._log) if record.end <= end]

    def check(self, records: list[Write], states: int) -> None:
        acknowledged = [one.acknowledged for one in self.session.versions if one.acknowledged]
        acknowledged += [one.acknowledged for one in self.session.kept]
        first, last = min(acknowledged), records[-1].end
        for number in range(states):
            chance = random.Random(f"{self._seed} {self._one.name} {number}")
            moment = chance.choice(acknowledged) if chance.random() < 0.7 else chance.randrange(first, last)
            if chance.random() < 0.5:
                moment = min(moment + chance.randrange(_AFTER), last)
            share = chance.choice(_SHARES)
            self._build(logged_disk.surviving(records, moment, chance, share))
            self._figures.count("states")
            how = f"{self._one.name}, seed {self._seed}, state {number}"
            try:
                mounts.mend(self._one, self._crash)
                mounts.mount(self._one, self._crash, self._look)
            except subprocess.CalledProcessError as error:
                self._figures.lost(f"{how}: it cannot be mounted: {error.stderr.strip()}")
                continue
            try:
                for wrong in self._wrong(self._look / "memory", moment):
                    self._figures.lost(f"{how}: {wrong}")
                if number % _START_ON == 0:
                    self._figures.count("starts")
                    wrong = self._wrong_start(self._look / "memory" / "memory.jsonl")
                    if wrong:
                        self._figures.lost(f"{how}: {wrong}")
            finally:
                mounts.unmount(self._look)

    def _build(self, writes: Any) -> None:
        mounts.copy_image(self._base, self._crash)
        fd = os.open(self._crash, os.O_RDWR)
        try:
            for offset, data in writes:
                os.pwrite(fd, data, offset)
        finally:
            os.close(fd)

    def _wrong(self, folder: Path, moment: int) -> list[str]:
        versions = self.session.versions
        sure = max(n for n, one in enumerate(versions) if one.acknowledged is not None and one.acknowledged <= moment)
        begun = max(number for number, one in enumerate(versions) if one.begun <= moment)
        allowed = [one.data for one in versions[sure : max(begun, sure) + 1]]
        found = []
        memory = folder / "memory.jsonl"
        data = memory.read_bytes() if memory.exists() else b"\0"
        if None not in allowed and data not in allowed:
            found.append(f"the memory is {data[-80:]!r}, none of the {len(allowed)} that it may be")
        known = {one.data for one in versions}
        for generation in folder.glob("memory.jsonl.history/*.jsonl"):
            if None not in allowed and generation.read_bytes() not in known:
                found.append(f"the generation {generation.name} is not whole")
        for kept in self.session.kept:
            if kept.acknowledged > moment or kept.is_there(folder):
                continue
            if kept.needs_a_journal and self._one.check:
                self._figures.count("generations that were gone, for want of a journal")
            else:
                found.append(f"{kept.what} is not there")
        return found

    def _wrong_start(self, memory: Path) -> str:
        """Hours later a program changes the memory."""
        if not memory.exists():
            return ""
        long_ago = time.time() - 3600
        for path in memory.parent.iterdir():
            os.utime(path, (long_ago, long_ago))
        before = memory.read_bytes()
        new = servers.entity("Next")
        done = _run(self._command, memory, "call", "create_entities", json.dumps(new))
        if done.returncode:
            return f"the next change was not stored: {done.stderr.strip()[-200:]}"
        return (
            "" if memory.read_bytes() == applied(before, "create_entities", new) else "the next change lost something"
        )


def main(seed: int, states: int, name: str, broken: str) -> None:
    one = mounts.BY_NAME[name]
    figures = Figures(name)
    inside = Path(tempfile.mkdtemp())
    try:
        proof = _Proof(one, inside, figures, seed, servers.command(broken))
        proof.check(proof.record(rounds=2), states)
    finally:
        for folder in ("look", "mounted", "disk"):
            subprocess.run(["umount", "-l", str(inside / folder)], capture_output=True, check=False)
        shutil.rmtree(inside)
    mounts.tell(figures)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4])

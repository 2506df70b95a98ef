"""What cannot be prevented, measured: how often the released npm server, which takes no lock, overwrites ours.

Each of our writes adds one observation to an entity that is only ours. A write is overwritten when it was acknowledged
and is not in the file at the end, though nothing but the npm server's saves came after it.
"""

from __future__ import annotations

import contextlib
import random
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from tests.bench.servers import NPM_IN_PLACE, NPM_VERSION, npm
from tests.driver import Driver
from tests.faults.folders import folder
from tests.stress import servers
from tests.stress.figures import Figures

_OURS: Final = "ours"
_THEIRS: Final = "theirs"
_SLOW: Final = Path(__file__).with_name("slow_writes.cjs")
_LEAST: Final = 5  # calls of each beside a server that writes in place, however slow the machine is


def run(seed: int, calls: int, pause: float = 0.0) -> Figures:
    """Let one server of ours and one npm server write to one file at the same time, `calls` times each.

    `pause` is the longest time in seconds that either waits between two calls.
    """
    figures = Figures(f"writers without a lock, pauses up to {pause:g} s" if pause else "writers without a lock")
    try:
        peer = npm()
    except (SystemExit, OSError) as error:
        figures.skipped = f"the npm server cannot be had: {error}"
        return figures
    with folder(on_disk=True) as inside:
        memory = inside / "memory.jsonl"
        ours = servers.started(memory, figures=figures)
        theirs = servers.started(memory, list(peer.command))
        with ours, theirs:
            for driver, name in ((ours, _OURS), (theirs, _THEIRS)):
                driver.call("create_entities", servers.entity(name))
            acknowledged = _write({_OURS: ours, _THEIRS: theirs}, seed, calls, pause)
            ours.finish()
            theirs.close_stdin()
        missing = _missing(memory, acknowledged)
        figures.count("writes of ours", len(acknowledged[_OURS]))
        figures.count(f"of npm {NPM_VERSION}", len(acknowledged[_THEIRS]))
        percent = 100 * len(missing[_OURS]) / max(len(acknowledged[_OURS]), 1)
        figures.remark(f"ours that npm overwrote: {len(missing[_OURS])} ({percent:.1f} %)")
        figures.remark(f"npm's that ours overwrote between check and rename: {len(missing[_THEIRS])}")
    return figures


def run_in_place(seed: int, rounds: int, command: list[str] | None = None) -> Figures:
    """Let a program rewrite the file in place, half-way and slowly, with changes of ours in its pauses.

    A round is lost when a line of what it wrote, or of ours that was acknowledged, is neither in the memory nor in a
    file that was kept beside it.
    """
    figures = Figures("a program that writes in place")
    chance = random.Random(f"{seed} in place")
    base = [f'{{"type":"entity","name":"Base{number}","entityType":"t","observations":[]}}\n' for number in range(500)]
    with folder(on_disk=True) as inside:
        memory = inside / "memory.jsonl"
        memory.write_text("".join(base))
        with servers.started(memory, command, figures) as ours:
            for number in range(rounds):
                theirs = [line.replace("[]", f'["{number}"]') for line in base[: chance.randint(250, 500)]]
                before = memory.read_text()
                call = _write_half_way(memory, "".join(theirs), ours, f"Ours{number}", chance)
                figures.count("rounds")
                if not servers.is_stored(ours.answer(call)):
                    figures.count("refused")
                    continue
                present = memory.read_text()
                kept = "".join(path.read_text() for path in inside.iterdir() if path.suffix in (".replaced", ".bak"))
                wanted = [*theirs, f'"Ours{number}"']
                if not all(line in present for line in theirs):
                    wanted += before.splitlines()
                if missing := [line for line in wanted if line not in present and line not in kept]:
                    figures.lost(f"round {number} of seed {seed}: {len(missing)} lines, the first: {missing[0]:.60}")
            ours.finish()
    return figures


def run_npm_in_place(
    seed: int,
    facts: int,
    seconds: float,
    pauses: Sequence[float] = (0.1, 0.1, 0.5, 1.5),
    command: list[str] | None = None,
) -> Figures:
    """Let one server of ours and an npm server that writes in place change one memory at the same time, for so long
    with each of the pauses. With the first one npm is slow: between emptying the file and writing it 30 ms pass.

    Lost is each old fact, and each that npm has acknowledged, which stands neither in the memory nor in a file that was
    kept beside it. One of ours that npm overwrote is counted alone: npm had loaded the file before.
    """
    figures = Figures("npm that writes in place")
    try:
        peer = npm(NPM_IN_PLACE)
    except (SystemExit, OSError, subprocess.CalledProcessError) as error:
        figures.skipped = f"npm {NPM_IN_PLACE} cannot be had: {error}"
        return figures
    node, program = peer.command
    for number, pause in enumerate(pauses):
        theirs = [node, *(() if number else ("--require", str(_SLOW))), program]
        with folder(on_disk=True) as inside:
            memory = inside / "memory.jsonl"
            with servers.started(memory, command, figures) as ours, servers.started(memory, theirs) as npms:
                _beside_npm(memory, {_OURS: ours, _THEIRS: npms}, f"{seed} {number}", facts, pause, seconds, figures)
    figures.remark(f"npm {NPM_IN_PLACE}; pauses up to {', '.join(f'{pause:g}' for pause in pauses)} s, slow at first")
    return figures


def _beside_npm(
    memory: Path, drivers: dict[str, Driver], seed: str, facts: int, pause: float, seconds: float, figures: Figures
) -> None:
    old = [f"old{number}" for number in range(facts)]
    lines = (f'{{"type":"entity","name":"{name}","entityType":"t","observations":["a fact"]}}' for name in old)
    memory.write_text("\n".join(lines))
    added: dict[str, list[str]] = {_OURS: [], _THEIRS: []}
    kept = _Kept(memory)

    def client(who: str, driver: Driver) -> None:
        chance = random.Random(f"{seed} {who}")
        number = 0
        until = time.monotonic() + seconds
        while number < _LEAST or time.monotonic() < until:
            number += 1
            name = f"{who}{number}"
            if servers.is_stored(driver.answer(driver.start_call("create_entities", servers.entity(name)))):
                added[who].append(name)
            else:
                figures.count(f"refused, {who}")
            kept.look()
            time.sleep(chance.uniform(0, pause))

    threads = [threading.Thread(target=client, args=pair) for pair in drivers.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    drivers[_OURS].finish()
    drivers[_THEIRS].close_stdin()
    kept.look()
    present = memory.read_text()
    figures.count("old facts", facts)
    figures.count("writes of ours", len(added[_OURS]))
    figures.count("of npm", len(added[_THEIRS]))
    figures.count("files kept beside it", len(kept.files))
    for name in old + added[_THEIRS]:
        if f'"{name}"' not in present and not kept.holds(name):
            figures.lost(f"pauses up to {pause:g} s, seed {seed}: {name} is nowhere")
    overwritten = [name for name in added[_OURS] if f'"{name}"' not in present]
    figures.count("ours that npm overwrote", len(overwritten))
    figures.count("of them kept all the same", sum(map(kept.holds, overwritten)))


class _Kept:
    """What was kept beside a memory at any time. Of the files that another program may still write to ten stay."""

    def __init__(self, memory: Path) -> None:
        self._memory = memory
        self._mutex = threading.Lock()
        self.files: dict[str, str] = {}

    def look(self) -> None:
        with self._mutex:
            history = self._memory.with_name(f"{self._memory.name}.history")
            for path in (
                *self._memory.parent.glob("*.replaced"),
                *self._memory.parent.glob("*.bak"),
                *history.glob("*.jsonl"),
            ):
                with contextlib.suppress(FileNotFoundError):
                    self.files[path.name] = path.read_text(errors="replace")

    def holds(self, name: str) -> bool:
        return any(f'"{name}"' in text for text in self.files.values())


def _write_half_way(memory: Path, text: str, ours: Driver, name: str, chance: random.Random) -> int:
    """Truncate the memory, ask for a change of ours, and write the text in pieces; the number of the call."""
    pause = chance.choice((0.0, 0.001, 0.03, 0.5, 1.5))
    with open(memory, "w", buffering=1 << 20) as file:
        time.sleep(chance.uniform(0, pause))
        call: int = ours.start_call("create_entities", servers.entity(name))
        time.sleep(chance.uniform(0, pause))
        half = chance.randrange(len(text))
        while text[:half].endswith(("}", "\n")):  # whole, and perhaps not shorter than the file was: nothing tells
            half -= 1
        file.write(text[:half])
        file.flush()
        time.sleep(chance.uniform(0, pause))
        file.write(text[half:])
    return call


def _write(drivers: dict[str, Driver], seed: int, calls: int, pause: float) -> dict[str, list[str]]:
    """Both at once, each call after the answer to the one before."""
    acknowledged: dict[str, list[str]] = {name: [] for name in drivers}

    def client(name: str, driver: Driver) -> None:
        chance = random.Random(f"{seed} {name}")
        for number in range(calls):
            time.sleep(chance.uniform(0, pause))
            text = f"{name}{number}"
            added = {"observations": [{"entityName": name, "contents": [text]}]}
            if servers.is_stored(driver.answer(driver.start_call("add_observations", added))):
                acknowledged[name].append(text)

    threads = [threading.Thread(target=client, args=pair) for pair in drivers.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return acknowledged


def _missing(memory: Path, acknowledged: dict[str, list[str]]) -> dict[str, list[str]]:
    entities = Graph.of(document.read(memory.read_bytes())).entities
    there = {name: set(entities[name].observations()) if name in entities else set() for name in acknowledged}
    return {name: [text for text in texts if text not in there[name]] for name, texts in acknowledged.items()}

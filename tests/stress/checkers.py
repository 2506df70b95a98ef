"""Each checker against servers that break its promise: what it finds, which must not be nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from memory_app.commands.upkeep.past import Step
from memory_app.commands.upkeep.recovery import undo_change
from memory_app.graph.graph import Graph
from tests.faults import crashes
from tests.faults.folders import folder
from tests.stress import (
    crowd,
    histories,
    inputs,
    kills,
    mounted,
    power_cuts,
    recovery,
    servers,
    unlocked,
    writers,
)
from tests.stress.figures import Figures

_SEED: Final = 1
_BRIEF: Final = 10.0  # seconds that a change may take to be heard of, which here it never is


class CannotRun(Exception):
    """What a check needs is not there; the text says what."""


def _caught(figures: Figures, text: str = "") -> list[str]:
    """The losses that hold this text."""
    if figures.skipped or not figures.counts:
        raise CannotRun(figures.skipped or "; ".join(figures.remarks))
    return [loss for loss in figures.losses if text in loss]


def kill_after_a_lie() -> list[str]:
    """A server that says it has stored what it has not, killed."""
    figures = Figures("kills")
    with folder() as inside:
        loop = kills.Loop(inside, figures, _SEED, servers.command("no-save"))
        with loop.victim() as victim, loop.survivor:
            loop.warm(victim)
            victim.kill()
            loop.check("no save", victim, {})
    return _caught(figures, "missing, though it was acknowledged")


def writers_without_a_lock() -> list[str]:
    """Servers that take no lock lose writes of each other."""
    command = servers.command("no-lock")
    return _caught(writers.run(_SEED, ours=3, peers=0, calls=20, each_peer=0, command=command))


def histories_without_a_lock() -> list[str]:
    command = servers.command("no-lock")
    return _caught(histories.run(range(3), processes=5, calls=12, command=command))


def histories_with_stale_reads() -> list[str]:
    command = servers.command("stale")
    return _caught(histories.run(range(6), processes=5, calls=12, command=command))


def lines_without_answers() -> list[str]:
    """A server that passes over what it cannot read."""
    figures = inputs.lines(_SEED, 60, most=200, command=servers.command("no-answer"))
    return _caught(figures, "are due")


def http_after_a_lie() -> list[str]:
    """A server that says it has stored what it has not, and starts anew without it."""
    figures = crowd.run(clients=4, seconds=2, command=servers.command("no-save"), patience=_BRIEF)
    return _caught(figures, "missing, though it was acknowledged")


def a_crash_without_a_sync_of_the_file() -> list[str]:
    def left_out(name: str, path: str) -> bool:
        return name == "fsync" and path.endswith(".tmp")

    return _caught(crashes.run(crashes.SESSIONS[:1], skip=left_out, enough=1))


def a_crash_in_a_write_in_place() -> list[str]:
    return _caught(crashes.run((crashes.IN_PLACE,), enough=1))


def a_power_cut_without_any_sync() -> list[str]:
    return _caught(power_cuts.run(_SEED, 4, ["ext4"], broken="no-sync"))


def writes_in_place_without_a_wait() -> list[str]:
    return _caught(unlocked.run_in_place(_SEED, 10, servers.command("no-wait")))


def npm_in_place_without_a_wait() -> list[str]:
    """Old facts go where a file that the npm server is writing is taken for whole, and nothing of it is kept."""
    figures = unlocked.run_npm_in_place(_SEED, 200, 3, [0.1], servers.command("no-wait"))
    return _caught(figures, "is nowhere")


def file_systems_without_a_lock() -> list[str]:
    figures = mounted.run(_SEED, 10, ["ext4"], broken="no-lock")
    return _caught(figures, "at once")


def file_systems_that_are_held() -> list[str]:
    """A server that keeps a file open keeps its file system from being unmounted."""
    figures = mounted.run(_SEED, 10, ["ext4"], broken="open-files")
    return _caught(figures, "ext4: umount")


def a_recovery_without_a_generation_before_a_delete() -> list[str]:
    figures = recovery.run(_SEED, rounds=1, processes=2, most=4, command=servers.command("no-history"))
    return _caught(figures, "is not there after all was undone")


def a_recovery_by_putting_the_old_file_back() -> list[str]:
    """An undo that brings back the state before the change as a whole loses what was added since."""
    figures = recovery.run(_SEED, rounds=1, processes=2, most=4, undo=lambda step, graph: step.before)
    return _caught(figures, "new-")


def a_recovery_whose_undos_cannot_be_undone() -> list[str]:
    def undo(step: Step, graph: Graph) -> Graph:
        return undo_change(graph, step.before, step.after, both=False)

    figures = recovery.run(_SEED, rounds=1, processes=2, most=4, undo=undo)
    return _caught(figures, "undoing the undos")


CHECKS: Final[tuple[Callable[[], list[str]], ...]] = (
    kill_after_a_lie,
    writers_without_a_lock,
    histories_without_a_lock,
    histories_with_stale_reads,
    lines_without_answers,
    http_after_a_lie,
    a_crash_without_a_sync_of_the_file,
    a_crash_in_a_write_in_place,
    writes_in_place_without_a_wait,
    npm_in_place_without_a_wait,
    a_power_cut_without_any_sync,
    file_systems_without_a_lock,
    file_systems_that_are_held,
    a_recovery_without_a_generation_before_a_delete,
    a_recovery_by_putting_the_old_file_back,
    a_recovery_whose_undos_cannot_be_undone,
)

QUICK: Final = (kill_after_a_lie, histories_without_a_lock, a_recovery_by_putting_the_old_file_back)
"""A few seconds, for each run of the tests."""


def run() -> Figures:
    """A checker that finds nothing is a loss."""
    figures = Figures("checkers")
    for check in CHECKS:
        try:
            is_caught = bool(check())
        except CannotRun as error:
            figures.remark(f"not {_told(check)}: {error}")
            continue
        figures.count("broken programs")
        figures.count("of them caught", is_caught)
        if not is_caught:
            figures.lost(f"nothing caught {_told(check)}")
    return figures


def _told(check: Callable[[], list[str]]) -> str:
    return check.__name__.replace("_", " ")

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
    kills,
    mounted,
    mounts,
    power_cuts,
    recovery,
    servers,
    unlocked,
    writers,
)
from tests.stress.figures import Figures

_SEED: Final = 1
_BRIEF: Final = 10.0  # seconds that a change may take to be heard of, which here it never is


def kill_after_a_lie() -> list[str]:
    """A server that says it has stored what it has not, killed."""
    figures = Figures("kills")
    with folder() as inside:
        loop = kills.Loop(inside, figures, _SEED, servers.command("no-save"))
        with loop.victim() as victim, loop.survivor:
            loop.warm(victim)
            victim.kill()
            loop.check("no save", victim, {})
    return [loss for loss in figures.losses if "missing, though it was acknowledged" in loss]


def writers_without_a_lock() -> list[str]:
    """Servers that take no lock lose writes of each other."""
    command = servers.command("no-lock")
    return writers.run(_SEED, ours=3, peers=0, calls=20, each_peer=0, command=command).losses


def histories_without_a_lock() -> list[str]:
    command = servers.command("no-lock")
    return histories.run(range(3), processes=5, calls=12, command=command).losses


def histories_with_stale_reads() -> list[str]:
    command = servers.command("stale")
    return histories.run(range(6), processes=5, calls=12, command=command).losses


def http_after_a_lie() -> list[str]:
    """A server that says it has stored what it has not, and starts anew without it."""
    losses = crowd.run(clients=4, seconds=2, command=servers.command("no-save"), patience=_BRIEF).losses
    return [loss for loss in losses if "missing, though it was acknowledged" in loss]


def a_crash_without_a_sync_of_the_file() -> list[str]:
    def left_out(name: str, path: str) -> bool:
        return name == "fsync" and path.endswith(".tmp")

    return crashes.run(crashes.SESSIONS[:1], skip=left_out, enough=1).losses


def a_crash_in_a_write_in_place() -> list[str]:
    return crashes.run((crashes.IN_PLACE,), enough=1).losses


def a_power_cut_without_any_sync() -> list[str]:
    return power_cuts.run(_SEED, 4, ["ext4"], broken="no-sync").losses


def writes_in_place_without_a_wait() -> list[str]:
    return unlocked.run_in_place(_SEED, 10, servers.command("no-wait")).losses


def file_systems_without_a_lock() -> list[str]:
    losses = mounted.run(_SEED, 10, ["ext4"], broken="no-lock").losses
    return [loss for loss in losses if "at once" in loss]


def file_systems_that_are_held() -> list[str]:
    """A server that keeps a file open keeps its file system from being unmounted."""
    losses = mounted.run(_SEED, 10, ["ext4"], broken="open-files").losses
    return [loss for loss in losses if "ext4: umount" in loss]


def a_recovery_without_a_generation_before_a_delete() -> list[str]:
    losses = recovery.run(_SEED, rounds=1, processes=2, most=4, command=servers.command("no-history")).losses
    return [loss for loss in losses if "is not there after all was undone" in loss]


def a_recovery_by_putting_the_old_file_back() -> list[str]:
    """An undo that brings back the state before the change as a whole loses what was added since."""
    losses = recovery.run(_SEED, rounds=1, processes=2, most=4, undo=lambda step, graph: step.before).losses
    return [loss for loss in losses if "new-" in loss]


def a_recovery_whose_undos_cannot_be_undone() -> list[str]:
    def undo(step: Step, graph: Graph) -> Graph:
        return undo_change(graph, step.before, step.after, both=False)

    losses = recovery.run(_SEED, rounds=1, processes=2, most=4, undo=undo).losses
    return [loss for loss in losses if "undoing the undos" in loss]


CHECKS: Final[tuple[Callable[[], list[str]], ...]] = (
    kill_after_a_lie,
    writers_without_a_lock,
    histories_without_a_lock,
    histories_with_stale_reads,
    http_after_a_lie,
    a_crash_without_a_sync_of_the_file,
    a_crash_in_a_write_in_place,
    writes_in_place_without_a_wait,
    *(() if mounts.missing() else (a_power_cut_without_any_sync,)),
    *(() if mounts.missing() else (file_systems_without_a_lock, file_systems_that_are_held)),
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
        figures.count("broken programs")
        figures.count("of them caught", bool(check()))
    if figures.counts["of them caught"] != len(CHECKS):
        figures.lost("a checker did not see what was broken for it")
    return figures

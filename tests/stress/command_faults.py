"""A fault or a kill at each call of every command: files stay whole, and no fact goes."""

from __future__ import annotations

import os
from pathlib import Path

from tests.faults.command_scenes import READING, SCENES
from tests.faults.commands import calls_of, faults, wrong
from tests.faults.folders import folder
from tests.stress.figures import Figures


def run(seed: int = 0, step: int = 1) -> Figures:
    """All commands, and of the faults, numbered through, every `step`th; the seed says which of them is the first."""
    figures = Figures("commands")
    if not hasattr(os, "fork"):
        figures.skipped = "a trial is a forked process, which this system does not have"
        return figures
    number = seed
    with folder() as around:
        inside = Path(around, "in")
        inside.mkdir()
        for scene in (*SCENES, *READING):
            figures.count("commands")
            names, clean = calls_of(inside, scene)
            if clean.status or not scene.done(clean.files):
                figures.lost(f"{scene.name} fails without a fault: {clean.out!r}")
                continue
            figures.count("calls", len(names))
            for fault in faults(names):
                number += 1
                if number % step:
                    continue
                figures.count("faults")
                text = wrong(inside, scene, fault, clean.files)
                if text:
                    figures.lost(f"{scene.name}, {names[fault.at - 1]}, {fault}: {text}")
    return figures

"""The long proof of the commands counts what it tries."""

from __future__ import annotations

import os

import pytest

from tests.faults.command_scenes import READING, SCENES
from tests.stress import command_faults


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a trial is a forked process")
def test_every_command_is_tried_and_nothing_is_lost() -> None:
    figures = command_faults.run(step=401)
    assert figures.losses == []
    assert figures.counts["commands"] == len(SCENES) + len(READING) and figures.counts["faults"] > 0

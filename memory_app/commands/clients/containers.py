"""The container image as a client starts it: its command line, and which local folder an existing container uses."""

from __future__ import annotations

import os
from typing import Final

from memory_app.commands.clients.entry import Start
from memory_app.commands.clients.recognition import HOME_IN_IMAGE, Container, in_container
from memory_app.errors import UsageError
from memory_app.location.environment import FILE, PROFILE
from memory_app.text import shown

IMAGE: Final = "mcp/memory"
_RUN: Final = ("run", "-i", "--rm", "--pull=never")
"""Only the image that was built here: nobody owns the name, so a registry might deliver a stranger's image."""

_VOLUME: Final = "claude-memory"
_FOLDER: Final = "/data"
"""Where a folder of this machine is inside; not the image's own folder, whose volume may hold another memory."""


def container_start(file: str | None, profile: str | None) -> Start:
    """The command that starts the image, for a memory file on this machine, for a profile, or for the volume's own."""
    if file is None:
        chosen = ("-e", f"{PROFILE}={profile}") if profile is not None else ()
        return Start("docker", (*_RUN, "-v", f"{_VOLUME}:{HOME_IN_IMAGE}", *chosen, IMAGE), {})
    folder, name = os.path.split(file)
    if ":" in os.path.splitdrive(folder)[1]:
        if "," in folder:
            raise UsageError(f"{shown(folder)} contains a colon and a comma: docker cannot mount it.")
        mount = ("--mount", f"type=bind,source={folder},target={_FOLDER}")
    else:
        mount = ("-v", f"{folder}:{_FOLDER}")
    return Start("docker", (*_RUN, *mount, "-e", f"{FILE}={_FOLDER}/{name}", IMAGE), {})


def memory_here(container: Container) -> str | None:
    """The memory file of a container on this machine; None if it is in a volume, or only in the container."""
    _, mount, rest = in_container(container)
    if mount is None or not mount.bind:
        return None
    path = os.path.join(mount.source, *rest.split("/")) if rest else mount.source
    old = f"{path[: -len('jsonl')]}json"
    if FILE not in container.environ and not os.path.exists(path) and os.path.exists(old):
        return old  # the npm server's image kept that name for long
    return path


def describe_memory(container: Container) -> str:
    """Where a container keeps its memory, in words."""
    here = memory_here(container)
    if here is not None:
        return here
    path, mount, _ = in_container(container)
    if mount is None:
        return f"{path} only in the container, so it is lost when the container ends"
    return f"{path} in the volume {mount.source or 'without a name'}"

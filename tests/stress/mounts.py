"""File systems of our own for the proofs: made in a file, mounted through a loop device, in a mount namespace that ends
with the process, so that nothing stays mounted whatever happens.

They need root on Linux. Where that, a program or the kernel is wanting, the proof is skipped and says which.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

from tests.stress.figures import Figures

_PATIENCE: Final = 60.0  # seconds for making, mounting or unmounting a file system


class FileSystem(NamedTuple):
    """`make` gets the image as its last argument; `check` too, before an image is mounted that was not unmounted.

    `program` serves it from outside the kernel, over FUSE; it gets the image and the folder.
    """

    name: str
    kind: str
    make: tuple[str, ...]
    megabytes: int
    options: str = ""
    check: tuple[str, ...] = ()
    program: tuple[str, ...] = ()


def _ext(name: str, kind: str, *make: str, options: str = "", check: tuple[str, ...] = ()) -> FileSystem:
    return FileSystem(name, kind, (f"mkfs.{kind}", "-q", "-F", *make), 64, options, check)


FILE_SYSTEMS: Final = (
    _ext("ext4", "ext4"),
    _ext("ext4 data=writeback", "ext4", options="data=writeback"),
    _ext("ext4 data=journal", "ext4", options="data=journal"),
    _ext("ext4 with stamps of a second", "ext4", "-I", "128"),
    _ext("ext3", "ext3"),
    _ext("ext2", "ext2", check=("e2fsck", "-f", "-y")),  # it has no journal
    FileSystem("xfs", "xfs", ("mkfs.xfs", "-q", "-f"), 320),
    FileSystem("btrfs", "btrfs", ("mkfs.btrfs", "-q", "-f"), 256),
    FileSystem("f2fs", "f2fs", ("mkfs.f2fs", "-q", "-f"), 128),
    FileSystem("vfat", "vfat", ("mkfs.vfat",), 64, check=("fsck.vfat", "-a")),
    FileSystem("vfat over FUSE", "fuse", ("mkfs.vfat",), 64, program=("fusefat", "-o", "rw+")),
    FileSystem("ntfs over FUSE", "fuse", ("mkfs.ntfs", "-F", "-q"), 64, program=("ntfs-3g",)),
)
BY_NAME: Final = {one.name: one for one in FILE_SYSTEMS}


def missing() -> str:
    """Why no file system can be mounted here; empty if some can."""
    if sys.platform != "linux":
        return "loop devices and mount namespaces are Linux's"
    if os.geteuid() != 0:
        return "only root may mount"
    if shutil.which("unshare") is None or not os.path.exists("/dev/loop-control"):
        return "there is no unshare or no loop device"
    tried = subprocess.run(["unshare", "-m", "true"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return "" if tried.returncode == 0 else "a mount namespace of one's own is not allowed"


def missing_for(one: FileSystem) -> str:
    """Why this file system cannot be made or mounted here; empty if it can."""
    for program in (one.make[0], *one.program[:1]):
        if shutil.which(program) is None:
            return f"there is no {program}"
    with open("/proc/filesystems", encoding="ascii") as known:
        if one.kind in (line.split()[-1] for line in known):
            return ""
    modprobe = shutil.which("modprobe")
    if modprobe is not None:
        tried = subprocess.run([modprobe, one.kind], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if tried.returncode == 0:
            return ""
    return f"the kernel has no {one.kind}"


def new_image(one: FileSystem, path: Path) -> None:
    """Make the file system in a new file."""
    with path.open("wb") as image:
        image.truncate(one.megabytes << 20)
    run(*one.make, str(path))


def copy_image(source: Path, target: Path) -> None:
    run("cp", "--sparse=always", str(source), str(target))


def mount(one: FileSystem, image: Path, at: Path) -> None:
    """CalledProcessError if it cannot be mounted."""
    if one.program:
        run(*one.program, str(image), str(at))
        return
    options = ",".join(filter(None, ("loop", one.options)))
    run("mount", "-t", one.kind, "-o", options, str(image), str(at))


def mend(one: FileSystem, image: Path) -> None:
    """What a machine does at its start with a file system that has no journal."""
    if one.check:
        subprocess.run([*one.check, str(image)], stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE)


def unmount(at: Path) -> None:
    run("umount", str(at))


def run(*command: str) -> None:
    """CalledProcessError, with what it said, if it fails."""
    subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE, check=True)


def privately(part: str, module: str, *arguments: str, patience: float) -> Figures:
    """Run a proof's module in a mount namespace of its own; it prints its figures by `tell`."""
    figures = Figures(part)
    figures.skipped = missing()
    if figures.skipped:
        return figures
    command = ["unshare", "--mount", "--propagation", "private", sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=patience, check=True)
    told = json.loads(done.stdout)
    figures.counts.update(told["counts"])
    figures.losses += told["losses"]
    figures.pings += told["pings"]
    return figures


def tell(figures: Figures) -> None:
    """Print what `privately` reads."""
    print(json.dumps({"counts": figures.counts, "losses": figures.losses, "pings": figures.pings}))

"""What kind of place a folder is: a network share, or a folder that a sync service copies. Hints, not proofs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Final

from memory_app.disk.mounts import kind_of, mounts_of_linux

_REMOTE: Final = re.compile(
    r"nfs\d?|cifs|smb\d?|smbfs|afpfs|webdav|davfs2?|9p|drvfs|vboxsf|prl_fs|virtiofs|fuse\..*|ncpfs|afs|ceph|glusterfs"
    r"|lustre|beegfs|osxfuse|macfuse|gcsfuse|s3fs"
)
_FOLDERS: Final = (
    ("Dropbox", "Dropbox"),
    ("OneDrive", "OneDrive"),
    ("Google Drive", "Google Drive"),
    ("GoogleDrive", "Google Drive"),
    ("Mobile Documents", "iCloud Drive"),
    ("CloudStorage", "a cloud drive"),
    ("Nextcloud", "Nextcloud"),
    ("ownCloud", "ownCloud"),
    ("pCloudDrive", "pCloud"),
    ("Box Sync", "Box"),
    ("MEGA", "MEGA"),
)
_MARKS: Final = ((".stfolder", "Syncthing"), (".dropbox", "Dropbox"), (".sync_journal.db", "Nextcloud"))
_DRIVE_REMOTE: Final = 4
_PATIENCE: Final = 3.0  # seconds for a program that lists mounts


def remote(folder: str, platform: str) -> str:
    """The kind of network or shared file system that the folder is on; "" if it looks like a local one."""
    if platform == "win32":
        return _remote_on_windows(folder)
    mounts = mounts_of_linux() if platform.startswith("linux") else _mounts_of_others()
    kind = kind_of(os.path.realpath(folder), mounts)
    return kind if _REMOTE.fullmatch(kind) else ""


def sync_service(folder: str) -> str:
    """The service that seems to copy the folder; "" for none."""
    path = os.path.realpath(folder)
    parts = path.replace("\\", "/").split("/")
    for part in parts:
        for start, service in _FOLDERS:
            if part == start or part.startswith(f"{start} - "):
                return service
    while True:
        for mark, service in _MARKS:
            if os.path.exists(os.path.join(path, mark)):
                return service
        above = os.path.dirname(path)
        if above == path:
            return ""
        path = above


def _mounts_of_others() -> list[tuple[str, str]]:
    """The mounts from the system's `mount`, as macOS and the BSDs print it: `what on /point (kind, …)`."""
    try:
        text = subprocess.run(
            ["/sbin/mount"], capture_output=True, text=True, errors="replace", timeout=_PATIENCE, check=False
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return re.findall(r"^.* on (/.*) \(([\w.]+)", text, re.MULTILINE)


def _remote_on_windows(folder: str) -> str:
    path = os.path.realpath(folder)
    if path.startswith(("\\\\", "//")):
        return "a network share"
    if sys.platform != "win32":
        return ""
    import ctypes

    drive = os.path.splitdrive(path)[0] + "\\"
    return "a network drive" if ctypes.WinDLL("kernel32").GetDriveTypeW(drive) == _DRIVE_REMOTE else ""

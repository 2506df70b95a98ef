"""`python3 tests/platforms/image.py`: build the image by its Dockerfile with buildah, and run it by runc as people do.

No Docker engine and no registry are needed: a base of the right name is made from a Debian suite by debootstrap, and
runc, which Docker itself starts containers with, is given what `docker run` would give it. Needs root, buildah, runc
and debootstrap, and says in one line which of them is missing. Prints what was shown and the size.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]
CACHE: Final = ROOT / ".cache"
BASE: Final = "docker.io/library/python:3.13-slim"
IMAGE: Final = "localhost/mcp/memory"
SUITE: Final = "trixie"  # its python3 is 3.13 as well
_STORE: Final = ["--root", str(CACHE / "buildah"), "--runroot", str(CACHE / "buildah-run"), "--storage-driver", "vfs"]
_CAPABILITIES: Final = (
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FSETID",
    "CAP_FOWNER",
    "CAP_MKNOD",
    "CAP_NET_RAW",
    "CAP_SETGID",
    "CAP_SETUID",
    "CAP_SETFCAP",
    "CAP_SETPCAP",
    "CAP_NET_BIND_SERVICE",
    "CAP_SYS_CHROOT",
    "CAP_KILL",
    "CAP_AUDIT_WRITE",
)
"""What Docker leaves a container's root."""
_PATIENCE: Final = 120.0  # seconds for one run
_ENTITY: Final = {"name": "Ada", "entityType": "person", "observations": ["wrote notes"]}
_OLD: Final = '{"type":"entity","name":"Old","entityType":"thing","observations":["was there before"]}\n'


def buildah(*arguments: str, given: str | None = None) -> str:
    """Run buildah; what it printed."""
    command = ["buildah", *_STORE, *arguments]
    done = subprocess.run(command, input=given or "", stdout=subprocess.PIPE, text=True, timeout=1200, check=True)
    return done.stdout.strip()


def make_base() -> None:
    """A stand-in for the base image, once."""
    if BASE in buildah("images", "--format", "{{.Name}}:{{.Tag}}").split():
        return
    tree = CACHE / "image-base" / SUITE
    if not (tree / "usr" / "bin" / "python3").exists():
        command = ["debootstrap", "--variant=minbase", "--include=python3,python3-venv", SUITE, str(tree)]
        subprocess.run(command, check=True, stdout=sys.stderr)
    container = buildah("from", "scratch")
    buildah("copy", "-q", container, str(tree), "/")
    buildah("commit", "-q", container, BASE)
    buildah("rm", container)


def make_image() -> None:
    """Build the Dockerfile, with this machine's configuration of pip: the build stage runs it."""
    options: list[str] = []
    for place in ("/etc/pip.conf", "/etc/xdg/pip", "/etc/ssl/certs/ca-certificates.crt", "/etc/resolv.conf"):
        if os.path.exists(place):
            options += ["--volume", f"{place}:{place}:ro"]
    buildah(
        "bud", "-q", "--format", "docker", "--isolation", "chroot", "--pull-never", *options, "-t", IMAGE, str(ROOT)
    )


class Options(NamedTuple):
    """Those of `docker run -i --rm -v VOLUME:/app/dist mcp/memory` that are given."""

    user: str = ""
    drop: tuple[str, ...] = ()  # --cap-drop
    read_only: bool = False
    no_network: bool = False
    no_new_privileges: bool = False


PLAIN: Final = Options()
HARDENED: Final = Options(drop=_CAPABILITIES, read_only=True, no_network=True, no_new_privileges=True)
"""All that guides on hardening recommend, at once."""


@contextlib.contextmanager
def bundle(volume: Path, options: Options, *arguments: str) -> Iterator[Path]:
    """A folder from which runc starts the image with that volume and those options, as Docker would."""
    image = json.loads(buildah("inspect", "--type", "image", IMAGE))["Docker"]["config"]
    container = buildah("from", "--pull-never", IMAGE)
    try:
        user, _, group = options.user.partition(":")
        bounding = [name for name in _CAPABILITIES if name not in options.drop]
        held = bounding if user in ("", "0") else []
        dev = ["nosuid", "strictatime", "mode=755"]
        mounts = [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": dev},
            {"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": ["nosuid", "noexec", "mode=1777"]},
            {"destination": "/app/dist", "type": "bind", "source": str(volume), "options": ["rbind", "rw"]},
        ]
        process = {
            "user": {"uid": int(user or 0), "gid": int(group or 0)},
            "args": [*image["Entrypoint"], *arguments],
            "env": image["Env"],
            "cwd": image["WorkingDir"],
            "capabilities": {"bounding": bounding, "effective": held, "permitted": held},
            "noNewPrivileges": options.no_new_privileges,
        }
        spaces = ["pid", "mount", "ipc", "uts", *(["network"] if options.no_network else [])]
        config = {
            "ociVersion": "1.0.2",
            "process": process,
            "root": {"path": buildah("mount", container), "readonly": options.read_only},
            "mounts": mounts,
            "linux": {"namespaces": [{"type": name} for name in spaces]},
        }
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "config.json").write_text(json.dumps(config))
            yield Path(folder)
    finally:
        buildah("rm", container)


def runc(*arguments: str) -> list[str]:
    return ["runc", "--root", str(CACHE / "runc"), *arguments]


def start(volume: Path, *requests: dict[str, Any], options: Options = PLAIN) -> list[dict[str, Any]]:
    """Run the image, send these; the answers."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "image", "version": "1"}}
    lines = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}]
    lines += [{"jsonrpc": "2.0", "id": number, **request} for number, request in enumerate(requests, 1)]
    given = "".join(json.dumps(line) + "\n" for line in lines)
    with bundle(volume, options) as folder:
        command = runc("run", "--bundle", str(folder), f"memory-{os.getpid()}")
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done
    answers = sorted((json.loads(line) for line in done.stdout.splitlines()), key=lambda answer: int(answer["id"]))
    assert [answer["id"] for answer in answers] == list(range(len(lines))), done
    return answers


def call(name: str, **arguments: object) -> dict[str, Any]:
    """One tool call."""
    return {"method": "tools/call", "params": {"name": name, "arguments": arguments}}


def takes_up_an_older_images_volume(volume: Path) -> None:
    """Data of root's at memory.jsonl, an old index.js, and things that are none of ours."""
    (volume / "memory.jsonl").write_text(_OLD)
    (volume / "index.js").write_text("throw new Error('an old program')\n")
    (volume / "folder").mkdir()
    (volume / "folder" / "memory.jsonl").write_text(_OLD)
    secret = volume / "secret"
    secret.write_text("not ours")
    (volume / "memory-link.jsonl").symlink_to("secret")
    os.link(secret, volume / "memory-second-name.jsonl")
    start(volume, call("create_entities", entities=[_ENTITY]))
    answers = start(volume, call("read_graph"))
    names = [one["name"] for one in answers[1]["result"]["structuredContent"]["entities"]]
    assert names == ["Old", "Ada"], answers
    owners = {path.name: path.lstat().st_uid for path in (volume, *volume.iterdir())}
    assert owners[volume.name] == owners["memory.jsonl"] == 65532, owners
    for name in ("index.js", "folder", "secret", "memory-link.jsonl", "memory-second-name.jsonl"):
        assert owners[name] == 0, (name, owners)
    assert (volume / "folder" / "memory.jsonl").stat().st_uid == 0
    assert (volume / "index.js").read_text().startswith("throw")


def starts_on_an_empty_volume_and_keeps_it(volume: Path) -> None:
    start(volume, call("create_entities", entities=[_ENTITY]))
    answers = start(volume, call("read_graph"))
    assert answers[1]["result"]["structuredContent"] == {"entities": [_ENTITY], "relations": []}
    assert (volume / "memory.jsonl").stat().st_uid == 65532


def changes_nothing_when_it_is_started_as_another_user(volume: Path) -> None:
    os.chown(volume, 1234, 1234)
    (volume / "memory.jsonl").write_text(_OLD)
    (volume / "memory.jsonl").chmod(0o644)
    answers = start(volume, call("create_entities", entities=[_ENTITY]), options=Options(user="1234:1234"))
    assert answers[1]["result"]["isError"] is True, answers  # root's file may be read and not be replaced
    assert (volume / "memory.jsonl").read_text() == _OLD
    assert [(volume / "memory.jsonl").stat().st_uid, volume.stat().st_uid] == [0, 1234]


def a_folder_of_somebodys_own_stays_theirs(volume: Path) -> None:
    os.chown(volume, 1234, 1235)
    start(volume, call("create_entities", entities=[_ENTITY]))
    facts = (volume / "memory.jsonl").stat()
    assert (facts.st_uid, facts.st_gid, volume.stat().st_uid) == (1234, 1235, 1234)


def serves_without_any_capability(volume: Path) -> None:
    (volume / "memory.jsonl").write_text(_OLD)
    start(volume, call("create_entities", entities=[_ENTITY]), options=Options(drop=_CAPABILITIES))
    answers = start(volume, call("read_graph"), options=Options(drop=_CAPABILITIES))
    assert len(answers[1]["result"]["structuredContent"]["entities"]) == 2, answers
    assert (volume / "memory.jsonl").stat().st_uid == 0


def serves_another_user_without_any_capability(volume: Path) -> None:
    os.chown(volume, 1234, 1234)
    start(volume, call("create_entities", entities=[_ENTITY]), options=HARDENED._replace(user="1234:1234"))
    assert (volume / "memory.jsonl").stat().st_uid == 1234


def hands_over_the_history(volume: Path) -> None:
    history = volume / "memory.jsonl.history"
    history.mkdir(0o700)
    yesterday = time.gmtime(time.time() - 86_400)  # an old one would be thinned out
    generation = history / time.strftime("%Y%m%dT%H%M%S.000Z.jsonl", yesterday)
    generation.write_text(_OLD)
    (volume / "memory.jsonl").write_text(_OLD)
    start(volume, call("create_entities", entities=[_ENTITY]))
    assert [path.stat().st_uid for path in (history, generation)] == [65532, 65532]


def serves_in_each_combination_that_people_use(volume: Path) -> None:
    """Root's old volume; the same server goes on with what the others stored."""
    (volume / "memory.jsonl").write_text(_OLD)
    combinations = (
        Options(read_only=True),
        Options(no_network=True),
        Options(read_only=True, no_network=True, no_new_privileges=True),
        Options(drop=("CAP_CHOWN",)),
        Options(drop=("CAP_SETUID",)),
        Options(drop=("CAP_DAC_OVERRIDE",)),
        Options(user="65532:65532", drop=_CAPABILITIES, read_only=True),
        HARDENED._replace(user="65532:65532"),
    )
    for number, options in enumerate(combinations):
        (answer,) = start(
            volume, call("create_entities", entities=[{**_ENTITY, "name": f"{number}"}]), options=options
        )[1:]
        assert answer["result"]["isError"] is False, (options, answer)
    answers = start(volume, call("read_graph"))
    stored = [one["name"] for one in answers[1]["result"]["structuredContent"]["entities"]]
    assert stored == ["Old", *map(str, range(len(combinations)))], stored


def serves_hardened_on_an_old_volume_as_root(volume: Path) -> None:
    (volume / "memory.jsonl").write_text(_OLD)
    start(volume, call("create_entities", entities=[_ENTITY]), options=HARDENED)
    answers = start(volume, call("read_graph"), options=HARDENED)
    assert len(answers[1]["result"]["structuredContent"]["entities"]) == 2, answers


def its_health_check_passes_on_stdio_and_over_http(volume: Path) -> None:
    check = json.loads(buildah("inspect", "--type", "image", IMAGE))["Docker"]["config"]["Healthcheck"]["Test"]
    assert check[0] == "CMD", check
    name = f"memory-{os.getpid()}"
    for arguments, said in (((), b"memory file"), (("serve", "--http", "8765"), b"serving at ")):
        with bundle(volume, Options(no_network=True), *arguments) as folder:
            pipe, null = subprocess.PIPE, subprocess.DEVNULL
            command = runc("run", "--bundle", str(folder), name)
            with subprocess.Popen(command, stdin=pipe, stdout=null, stderr=pipe) as server:
                late = threading.Timer(_PATIENCE, server.kill)  # ends the wait for its line as well
                late.start()
                try:
                    assert server.stderr is not None
                    assert any(said in line for line in server.stderr), arguments
                    done = subprocess.run(runc("exec", name, *check[1:]), timeout=_PATIENCE, check=False)
                    assert done.returncode == 0, (arguments, done)
                finally:
                    late.cancel()
                    subprocess.run(runc("delete", "--force", name), timeout=_PATIENCE, check=False)


def size() -> int:
    """Bytes of the image's files."""
    container = buildah("from", "--pull-never", IMAGE)
    try:
        place = Path(buildah("mount", container))
        return sum(path.lstat().st_size for path in place.rglob("*") if path.is_file() and not path.is_symlink())
    finally:
        buildah("rm", container)


SCENES: Final[tuple[Callable[[Path], None], ...]] = (
    takes_up_an_older_images_volume,
    starts_on_an_empty_volume_and_keeps_it,
    changes_nothing_when_it_is_started_as_another_user,
    a_folder_of_somebodys_own_stays_theirs,
    serves_without_any_capability,
    serves_another_user_without_any_capability,
    hands_over_the_history,
    serves_in_each_combination_that_people_use,
    serves_hardened_on_an_old_volume_as_root,
    its_health_check_passes_on_stdio_and_over_http,
)


def main() -> int:
    missing = [name for name in ("buildah", "debootstrap", "runc") if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        print("image: not run: needs " + (", ".join(missing) + " (Debian packages)" if missing else "root"))
        return 1
    make_base()
    make_image()
    failed = 0
    for scene in SCENES:
        with tempfile.TemporaryDirectory() as folder:
            volume = Path(folder, "volume")
            volume.mkdir()
            try:
                scene(volume)
            except (AssertionError, subprocess.SubprocessError, ValueError, KeyError) as problem:
                failed += 1
                print(f"image: FAILED: {scene.__name__.replace('_', ' ')}: {problem!r}")
            else:
                print(f"image: {scene.__name__.replace('_', ' ')}")
    print(f"image: {size() / 1e6:.0f} MB")
    print(f"{len(SCENES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""The archive as a file: what is in it, what is said beside it, and that it starts."""

from __future__ import annotations

import ast
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from packaging.tags import compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

import memory_app
from build import inputs, packing, pins, platform_table, platforms, startup, wheels
from build.launcher import boot
from tests.build.starting import HELLO, environment

MEGABYTE = 1_000_000
UNIVERSAL = inputs.ROOT / "dist" / "memory-server.pyz"


def test_the_archive_says_its_version_on_stdout_and_nothing_else(archive: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(archive), "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"memory-server {memory_app.__version__}\n", "")


def test_nothing_in_it_tells_who_built_it_where_and_when(archive: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        entries = opened.infolist()
        assert {entry.date_time for entry in entries} == {packing.DATE}
        assert {entry.external_attr >> 16 for entry in entries} == {0o100644}
        assert [entry.filename for entry in entries][1:] == sorted(entry.filename for entry in entries[1:])
        for entry in entries:
            content = opened.read(entry)
            assert str(inputs.ROOT).encode() not in content, entry.filename


def test_the_archive_for_one_platform_is_small(archive: Path) -> None:
    assert archive.stat().st_size <= (60 if archive == UNIVERSAL else 20) * MEGABYTE


def test_the_hash_and_the_bill_of_materials_lie_beside_it(archive: Path) -> None:
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    assert archive.with_name(archive.name + ".sha256").read_text() == f"{digest}  {archive.name}\n"
    bill = json.loads(archive.with_name(archive.name + ".cdx.json").read_text("utf-8"))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    program = bill["metadata"]["component"]
    assert program["hashes"] == [{"alg": "SHA-256", "content": digest}]
    assert program["version"] == memory_app.__version__
    listed = {(one["name"], one["version"]) for one in bill["components"]}
    assert listed == {(wheel.name, wheel.version) for wheel in wheels.locked_wheels([platforms.host().name])}
    for one in bill["components"]:
        licences = [held.get("expression") or held["license"]["id"] for held in one["licenses"]]
        assert licences, one["name"]
        assert not [name for name in licences if " " in name.replace(" OR ", "").replace(" AND ", "")], one["name"]
        files = {part["name"]: part["hashes"][0]["content"] for part in one["components"] if part["type"] == "file"}
        assert files == {
            wheel.file: wheel.sha256
            for wheel in wheels.locked_wheels([platforms.host().name])
            if wheel.name == one["name"]
        }
    (core,) = [one for one in bill["components"] if one["name"] == "pydantic-core"]
    assert "pyo3" in {part["name"] for part in core["components"]}  # what is inside the wheels
    assert str(inputs.ROOT) not in json.dumps(bill)


def test_our_own_licence_is_in_it(archive: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        assert opened.read("LICENSE") == (inputs.ROOT / "LICENSE").read_bytes()


def contents(archive: Path) -> set[str]:
    found = set()
    with zipfile.ZipFile(archive) as opened:
        for name in opened.namelist():
            if ".tar" in name:
                with tarfile.open(fileobj=io.BytesIO(opened.read(name))) as tar:
                    found |= set(tar.getnames())
    return found


def test_licences_and_metadata_of_every_package_are_in_it(archive: Path) -> None:
    files = contents(archive)
    for wheel in wheels.locked_wheels([platforms.host().name]):
        folder = wheel.file.split("-")[0] + "-" + wheel.version + ".dist-info/"
        mine = [path.lower() for path in files if folder.lower() in path.lower()]
        assert any(path.endswith("/metadata") for path in mine), wheel.name
        assert any("licen" in path or "copying" in path for path in mine) or wheel.name in WITHOUT_LICENCE, wheel.name


WITHOUT_LICENCE = frozenset({"mcp-types"})  # these wheels hold no licence file; the bill of materials names it


def test_the_client_half_of_the_sdk_brings_nothing_along(archive: Path) -> None:
    tops = {path.split("/")[1].split("-")[0].split(".")[0].lower() for path in contents(archive)}
    assert not (tops - {"cryptography", "opentelemetry"}) & {name.replace("-", "_") for name in pins.LEFT_OUT}
    assert not tops & {"attr", "rpds", "jwt", "_cffi_backend"}
    assert {"any/cryptography.py", "any/opentelemetry.py"} <= contents(archive)  # which stand for them


def test_no_two_files_collide_where_names_ignore_case(archive: Path) -> None:
    files = contents(archive)
    assert len({path.lower() for path in files}) == len(files)


_IMPORT_ALL = """
import importlib, runpy, sys
sys.argv[:] = [sys.argv[1], "--version"]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit:
    pass
tops = ("mcp", "mcp_types", "memory_app", "starlette", "sse_starlette")
for name in sorted(sys.meta_path[0]._index):
    if name.split(".")[0] in tops and "__main__" not in name and not name.startswith("mcp.cli"):
        try:
            importlib.import_module(name)
        except ImportError as problem:
            print(name, problem.name)
"""


def test_all_modules_of_the_sdk_find_what_they_import(archive: Path, filled: Path, tmp_path: Path) -> None:
    """What was trimmed is missed by nothing but adapters to packages that nobody asked for."""
    script = tmp_path / "all.py"
    script.write_text(_IMPORT_ALL)
    command = [sys.executable, str(script), str(archive)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment(filled), check=False)
    assert done.returncode == 0, done.stderr
    version, *failed = done.stdout.splitlines()
    assert version.startswith("memory-server ")
    assert {line for line in failed if not line.startswith("mcp.server.fastmcp")} == {
        "starlette.middleware.opentelemetry None",
        "starlette.middleware.sessions itsdangerous",
        "starlette.templating None",
    }


def test_every_module_that_serving_loads_is_compiled_at_the_first_start(archive: Path) -> None:
    """Else every later start compiles it again: run `make startup`."""
    assert set(startup.ours(startup.loaded_modules(archive))) <= set(startup.LIST.read_text("ascii").split())


def test_a_later_start_compiles_no_module_of_the_archive(archive: Path, tmp_path: Path) -> None:
    """The largest of all come with pydantic-core's compiled part, which is easy to forget."""
    startup.loaded_modules(archive)  # a first start, which compiles them all
    code = """
import runpy, sys
sys.addaudithook(lambda event, given: event == "compile" and print("compiled", given[1], file=sys.stderr))
sys.argv[:] = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
    command = [sys.executable, "-c", code, str(archive), "--file", str(tmp_path / "memory.jsonl")]
    done = subprocess.run(command, input=json.dumps(HELLO), capture_output=True, text=True, timeout=60, check=True)
    compiled = [line for line in done.stderr.splitlines() if line.startswith("compiled ")]
    assert compiled  # that of the archive's __main__
    assert [line for line in compiled if line.startswith("compiled " + boot.SHOWN)] == []


def test_a_start_leaves_out_what_serving_a_client_does_not_need(archive: Path) -> None:
    """Each would take milliseconds, some for a library of C that is linked."""
    startup.loaded_modules(archive)  # a first start, which unpacks, needs some of them
    heavy = {
        "bz2",
        "calendar",
        "decimal",
        "email",
        "fractions",
        "hashlib",
        "lzma",
        "shutil",
        "ssl",
        "sysconfig",
        "tempfile",
        "zipfile",
        "zoneinfo",
    }
    assert not startup.loaded_modules(archive) & heavy


def test_a_module_that_was_not_compiled_is_compiled_when_it_is_asked_for(
    archive: Path, filled: Path, tmp_path: Path
) -> None:
    script = tmp_path / "late.py"
    script.write_text(
        "import runpy, sys, traceback\n"
        "sys.argv[:] = [sys.argv[1], '--version']\n"
        "try:\n    runpy.run_path(sys.argv[0], run_name='__main__')\n"
        "except SystemExit:\n    pass\n"
        "import inspect, uvicorn, mcp.server.streamable_http_manager, importlib.metadata, importlib.resources\n"
        "assert 'uvicorn' in uvicorn.__file__ and inspect.getsource(uvicorn.Config)\n"
        "assert importlib.metadata.version('mcp')\n"
        "assert importlib.resources.files('memory_app').joinpath('viewer').is_dir()\n"
        "try:\n    uvicorn.Config(None, loop=1).setup_event_loop()\n"
        "except Exception:\n    assert 'memory-server.pyz/uvicorn/' in traceback.format_exc()\n"
        "print('well')\n"
    )
    command = [sys.executable, str(script), str(archive)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment(filled), check=False)
    assert done.stdout.endswith("well\n"), done.stderr


def test_wheels_fit_the_platform_and_interpreter_that_they_are_listed_for() -> None:
    for wheel in wheels.locked_wheels([one.name for one in platforms.PLATFORMS]):
        if wheel.platform == "any":
            assert {str(tag) for tag in wheel.tags} <= {"py3-none-any", "py2-none-any"}, wheel.file
            continue
        accepted = list(platforms.by_name(wheel.platform).tags)
        version = tuple(map(int, platforms.python(wheel.abi).removesuffix("t").split(".")))
        fits = {
            *cpython_tags(version, abis=[wheel.abi], platforms=accepted),
            *compatible_tags(version, platforms=accepted),
        }
        assert wheel.tags & fits, wheel.file


@pytest.mark.parametrize("platform", platforms.PLATFORMS, ids=lambda platform: platform.name)
def test_every_interpreter_has_its_compiled_parts_on_every_platform(platform: platforms.Platform) -> None:
    expected = {"pydantic-core"} | ({"pywin32"} if platform.sys_platform == "win32" else set())
    mine = [wheel for wheel in wheels.locked_wheels([platform.name]) if wheel.platform == platform.name]
    for python in platform.pythons:
        assert {wheel.name for wheel in mine if wheel.abi == platforms.abi(python)} == expected
    assert {wheel.abi for wheel in mine} == set(map(platforms.abi, platform.pythons))


def test_every_wheel_is_pinned_by_a_hash_of_the_requirements() -> None:
    pinned = dict[str, str]()
    for requirement, text in pins.read_requirements(inputs.ROOT / "build" / "requirements.txt"):
        pinned[f"{requirement.name.lower()}{requirement.specifier}"] = text
    for wheel in wheels.locked_wheels([one.name for one in platforms.PLATFORMS]):
        name, version, _, _ = parse_wheel_filename(wheel.file)
        assert f"sha256:{wheel.sha256}" in pinned[f"{name}=={version}"], wheel.file


@pytest.mark.parametrize("name", ["requirements", "requirements-build", "requirements-test"])
def test_requirements_are_names_versions_and_hashes(name: str) -> None:
    text = (inputs.ROOT / "build" / f"{name}.txt").read_text("utf-8")
    assert "://" not in text
    for requirement, block in pins.read_requirements(inputs.ROOT / "build" / f"{name}.txt"):
        assert [one.operator for one in requirement.specifier] == ["=="], requirement
        assert "--hash=sha256:" in block


def test_the_guides_table_of_platforms_is_current() -> None:
    """Run `make platform-table`."""
    text = platform_table.PAGE.read_text("utf-8")
    assert platform_table.rewritten(text) == text


def test_rewriting_the_table_leaves_the_rest_alone() -> None:
    text = f"before\n{platform_table.BEGIN}\nold\n{platform_table.END}\nafter\n"
    made = platform_table.rewritten(text)
    assert made.startswith(f"before\n{platform_table.BEGIN}\n| platform |")
    assert made.endswith(f"|\n{platform_table.END}\nafter\n")
    assert platform_table.rewritten(made) == made
    with pytest.raises(ValueError, match="platforms:begin"):
        platform_table.rewritten("no markers")


@pytest.mark.parametrize(
    "kind", [platforms.host().name, pytest.param("all", marks=[pytest.mark.slow, pytest.mark.timeout(3700)])]
)
def test_two_builds_are_byte_identical(tmp_path: Path, kind: str) -> None:
    """In another folder, with another umask, time zone, language, hash seed, age and mode of the source files."""
    folders = [inputs.ROOT / "build", inputs.ROOT / "memory_app"]
    files = [inputs.ROOT / "LICENSE", *(path for folder in folders for path in inputs.sources(folder))]
    sources = {path: path.read_bytes() for path in files}
    made = []
    for place, umask, extra in (
        ("here", 0o022, {"TZ": "UTC", "PYTHONHASHSEED": "1"}),
        ("an other Ort", 0o077, {"TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "2", "LC_ALL": "C"}),
    ):
        tree = tmp_path / place
        for path, content in sources.items():
            copy = tree / path.relative_to(inputs.ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)
            if umask == 0o077:
                copy.chmod(0o600)
                os.utime(copy, (1, 1))
        (tree / ".cache").mkdir()
        (tree / ".cache" / "wheels").symlink_to(inputs.ROOT / ".cache" / "wheels")
        target = tree / "dist" / "made.pyz"
        subprocess.run(
            [sys.executable, "-m", "build.packing", kind, "0123456789abcdef", str(target)],
            check=True,
            cwd=tree,
            env={**environment(None), **extra},
            umask=umask,
            timeout=1800,
        )
        made.append([path.read_bytes() for path in sorted(target.parent.iterdir())])
    assert made[0] == made[1]


def test_a_file_that_changes_the_archive_changes_its_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("memory_app", "build"):
        (tmp_path / folder).mkdir()
    monkeypatch.setattr(inputs, "ROOT", tmp_path)
    (tmp_path / "LICENSE").write_text("free")
    source = tmp_path / "memory_app" / "one.py"
    seen = [inputs.digest()]
    source.write_text("1")
    seen.append(inputs.digest())
    source.write_text("2")
    seen.append(inputs.digest())
    source.rename(source.with_name("two.py"))
    seen.append(inputs.digest())
    assert len(set(seen)) == len(seen)
    (tmp_path / "memory_app" / "__pycache__").mkdir()
    (tmp_path / "memory_app" / "__pycache__" / "two.pyc").write_text("")
    (tmp_path / "memory_app" / ".two.py.swp").write_text("")
    assert inputs.digest() == seen[-1]


def test_an_archive_tells_what_it_was_made_from(archive: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        digest = json.loads(opened.read("environment.json"))["build_id"]  # as shiv was told
    assert inputs.is_current(archive, (platforms.host().name, "all"), digest)
    assert not inputs.is_current(archive, ("another",), digest)
    assert not inputs.is_current(archive, (platforms.host().name,), "0" * 16)
    assert not inputs.is_current(tmp_path / "none.pyz", ("all",), digest)


def test_the_launcher_needs_nothing_but_what_is_built_in() -> None:
    tree = ast.parse((inputs.ROOT / "build" / "launcher" / "boot.py").read_text("utf-8"))
    names = {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    froms = {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
    assert names <= {*sys.builtin_module_names, "os"}
    assert froms == {"__future__", "_frozen_importlib", "_frozen_importlib_external", "_imp", "_stat"}
    assert {"_imp", "_stat"} <= set(sys.builtin_module_names)
    assert boot.SHOWN.endswith("/")

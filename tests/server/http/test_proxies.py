"""The proxies as the guide sets them up: TLS outside, the token and the name passed on, updates at once."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import httpx2
import mcp_types as t
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourceUpdated

from tests.server.http.raw import PATIENCE, URI
from tests.server.http.serving import ROOT, SOURCE, TOKEN, environment, serving

pytestmark = pytest.mark.slow

NAME: Final = "memory.example.org"
GUIDE: Final = (ROOT / "memory_app" / "guide" / "proxies.md").read_text()
_CADDY: Final = "{\n admin off\n auto_https disable_redirects\n default_sni memory.example.org\n}\n"
_NGINX: Final = (
    "daemon off; master_process off; pid {0}/pid; error_log stderr; events {{}} http {{ access_log off; "
    "client_body_temp_path {0}/a; proxy_temp_path {0}/b; fastcgi_temp_path {0}/c; uwsgi_temp_path {0}/d; "
    "scgi_temp_path {0}/e; {1} }}"
)


def block(language: str) -> str:
    """A piece of the guide."""
    found = re.search(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)
    assert found is not None
    return found[1].replace("127.0.0.1:8765", "127.0.0.1:{server}")


def line(text: str) -> str:
    """What the guide has in place of a line of its blocks."""
    assert f"`{text}`" in GUIDE, text
    return text


@contextlib.contextmanager
def proxy(kind: str, folder: Path, server: int | Path, *, office: bool = False) -> Iterator[int]:
    """The proxy, set up as the guide has it but for ports and certificate: the port where it listens.

    `server` is its port or its Unix socket; `office`: only what is below that path is passed on.
    """
    program = shutil.which(kind) or shutil.which(kind, path="/usr/sbin")
    openssl = shutil.which("openssl")
    if program is None or openssl is None:
        pytest.skip(f"there is no {kind} or no openssl here")
    key, certificate = folder / "key", folder / "certificate"
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={NAME}"]
    command += ["-addext", f"subjectAltName=DNS:{NAME}", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = folder / "config"
    text = block(kind)
    if isinstance(server, Path):
        of_guide = line({"caddy": "reverse_proxy unix//run/memory-server/socket",
                         "nginx": "proxy_pass http://unix:/run/memory-server/socket;"}[kind])  # fmt: skip
        plain = {"caddy": "reverse_proxy 127.0.0.1:{server}", "nginx": "proxy_pass http://127.0.0.1:{server};"}[kind]
        assert plain in text
        text = text.replace(plain, of_guide.replace("/run/memory-server/socket", str(server)))
    if office and kind == "caddy":
        text = text.replace("reverse_proxy ", line("reverse_proxy /office/* 127.0.0.1:8765").partition("127")[0])
    elif office:
        text = text.replace(line("location /"), line("location /office/"))
    text = text.replace("{server}", str(server))
    if kind == "caddy":
        text = text.replace(f"{NAME} {{", f"https://{NAME}:{port} {{\n bind 127.0.0.1\n tls {certificate} {key}")
        config.write_text(_CADDY + text)
        command = [program, "run", "--adapter", "caddyfile", "--config", str(config)]
    else:
        text = text.replace("listen 443", f"listen 127.0.0.1:{port}")
        text = re.sub(r"(ssl_certificate) .*;", rf"\1 {certificate};", text)
        text = re.sub(r"(ssl_certificate_key) .*;", rf"\1 {key};", text)
        config.write_text(_NGINX.format(folder, text))
        command = [program, "-p", str(folder), "-c", str(config)]
    said = folder / "said"
    with said.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            _wait_for(port, process, said)
            yield port
        finally:
            process.kill()


def _wait_for(port: int, process: subprocess.Popen[bytes], said: Path) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        assert process.poll() is None and time.monotonic() < end, said.read_text()
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)  # what is waited for is bounded above
        else:
            return


@pytest.mark.parametrize("kind", ["caddy", "nginx"])
def test_clients_of_both_eras_write_and_hear_through_the_proxy(tmp_path: Path, kind: str) -> None:
    heard = asyncio.Event()

    async def hear(message: object) -> None:
        if isinstance(message, t.ResourceUpdatedNotification):
            heard.set()

    async def work(port: int) -> None:
        trusted = ssl.create_default_context(cafile=str(tmp_path / "certificate"))
        trusted.check_hostname = False  # the address is loopback; the name goes into the Host header
        headers = {"Authorization": f"Bearer {TOKEN}", "Host": f"{NAME}:{port}"}

        def client(http: httpx2.AsyncClient, mode: Literal["auto", "legacy"]) -> Client:
            transport = streamable_http_client(f"https://127.0.0.1:{port}/mcp", http_client=http)
            return Client(transport, mode=mode, message_handler=hear if mode == "legacy" else None)

        async def write(writing: Client, name: str) -> None:
            entity = {"name": name, "entityType": "thing", "observations": ["x" * (2 << 20)]}
            assert not (await writing.call_tool("create_entities", {"entities": [entity]})).is_error

        async with (
            httpx2.AsyncClient(headers=headers, verify=trusted, timeout=PATIENCE) as http,
            client(http, "auto") as new,
            client(http, "legacy") as old,
            new.listen(resource_subscriptions=[URI]) as changes,
        ):
            with pytest.warns(UserWarning, match="removed"):
                await old.subscribe_resource(URI)
            for number in range(50):  # the old one opens its stream when it likes
                await write(old, f"Old {number}")
                assert await asyncio.wait_for(anext(changes), PATIENCE) == ResourceUpdated(uri=URI)
                if heard.is_set():
                    break
            await asyncio.wait_for(heard.wait(), PATIENCE)
        async with httpx2.AsyncClient(verify=trusted, timeout=PATIENCE) as http:
            answer = await http.post(f"https://127.0.0.1:{port}/mcp", headers={"Host": f"{NAME}:{port}"}, json={})
            assert answer.status_code == 401

    with (
        serving(tmp_path, "--allow-host", NAME, env={"MEMORY_HTTP_TOKEN": TOKEN}) as server,
        proxy(kind, tmp_path, server.port) as port,
    ):
        asyncio.run(work(port))


def ask_through(port: int, path: str, certificate: Path) -> int:
    """The status of a GET by way of the proxy."""
    trusted = ssl.create_default_context(cafile=str(certificate))
    trusted.check_hostname = False
    with httpx2.Client(verify=trusted, timeout=PATIENCE) as http:
        return http.get(f"https://127.0.0.1:{port}{path}", headers={"Host": f"{NAME}:{port}"}).status_code


@pytest.mark.parametrize("kind", ["caddy", "nginx"])
def test_below_a_path_the_proxy_changes_nothing_and_names_the_client(tmp_path: Path, kind: str) -> None:
    options = ("--allow-host", NAME, "--path", "/office", "--access-log", "--trusted-proxy", "127.0.0.1")
    with serving(tmp_path, *options) as server, proxy(kind, tmp_path, server.port, office=True) as port:
        assert ask_through(port, "/office/ready", tmp_path / "certificate") == 200
        server.wait_until_said(" GET 200 ")
        assert all(said.endswith(" ms 127.0.0.1") for said in server.said[2:]), server.said


@pytest.mark.parametrize("kind", ["caddy", "nginx"])
def test_the_proxy_reaches_a_unix_socket(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "socket"
    options = ("--allow-host", NAME, "--access-log", "--trusted-proxy", "unix")
    with serving(tmp_path, *options, at=f"unix:{path}") as server, proxy(kind, tmp_path, path) as port:
        assert ask_through(port, "/ready", tmp_path / "certificate") == 200
        server.wait_until_said(" GET 200 ")
        assert server.said[2].endswith(" ms 127.0.0.1"), server.said


@pytest.mark.skipif(shutil.which("systemd-socket-activate") is None, reason="there is no systemd here")
def test_systemd_hands_over_a_socket(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    env = environment(tmp_path / "memory.jsonl")
    passed = [f"--setenv={name}={value}" for name, value in env.items()]
    command = ["systemd-socket-activate", f"--listen={path}", *passed, *SOURCE, "serve", "--http", "systemd"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
        try:
            until = time.monotonic() + PATIENCE
            while not path.exists():
                assert time.monotonic() < until and process.poll() is None
                time.sleep(0.05)  # what is waited for is bounded above
            with httpx2.Client(transport=httpx2.HTTPTransport(uds=str(path)), timeout=PATIENCE) as http:
                assert http.get("http://localhost/ready").status_code == 200  # it is started by the first connection
            process.terminate()
            assert process.wait(PATIENCE) == 0
            assert path.exists()  # it is systemd's to remove
        finally:
            process.kill()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_the_unit_of_the_guide_is_one(tmp_path: Path) -> None:
    found = re.search(r"```ini\n(.*?)```", (ROOT / "memory_app" / "guide" / "http.md").read_text(), re.DOTALL)
    assert found is not None
    unit = tmp_path / "memory-server.service"
    unit.write_text(found[1])
    command = ["systemd-analyze", "verify", "--man=no", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    about = [said for said in done.stderr.splitlines() if unit.name in said and "is not executable" not in said]
    assert about == [], done.stderr

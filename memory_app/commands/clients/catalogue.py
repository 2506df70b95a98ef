"""The clients: names, files, forms. A place is a template, so that it can be had for every system anywhere.

| in a template | Linux and others | macOS | Windows |
|---|---|---|---|
| `{home}` | the home folder | the home folder | %USERPROFILE% |
| `{app}` | $XDG_CONFIG_HOME or ~/.config | ~/Library/Application Support | %APPDATA% |
| `{config}` | $XDG_CONFIG_HOME or ~/.config | ~/.config | ~/.config |
| `{local}` | - | - | %LOCALAPPDATA% |
| `{NAME}` | the environment variable NAME; a template with one that is not set is passed over | the same | the same |
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from memory_app.location.environment import value_of
from memory_app.location.expansion import flavour, home_folder

Style = Literal["plain", "stdio", "copilot", "opencode", "zed", "codex"]


class Machine(NamedTuple):
    """What a client's place depends on."""

    platform: str
    environ: Mapping[str, str]


class Client(NamedTuple):
    """`keys` lead to the object that holds the servers; `places` are the user's files, the first that exists is the
    one; `project` is the file within a project, None if there is no such; `comments` are allowed in its JSON."""

    title: str
    keys: tuple[str, ...]
    style: Style
    places: tuple[str, ...]
    project: str | None = None
    comments: bool = False
    after: str = "Restart it, or reload its MCP servers."


_VS_CODE_STORAGE: Final = "{app}/Code/User/globalStorage"

CLIENTS: Final[Mapping[str, Client]] = {
    "claude-desktop": Client(
        "Claude Desktop",
        ("mcpServers",),
        "plain",
        (
            "{app}/Claude/claude_desktop_config.json",
            # Where the edition from the Microsoft Store has its roaming folder.
            "{local}/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json",
        ),
        after="Quit Claude Desktop, not only its window, and start it again.",
    ),
    "claude-code": Client(
        "Claude Code",
        ("mcpServers",),
        "stdio",
        ("{CLAUDE_CONFIG_DIR}/.claude.json", "{home}/.claude.json"),
        ".mcp.json",
        after="Start a new session; /mcp shows the server.",
    ),
    "vscode": Client(
        "Visual Studio Code",
        ("servers",),
        "stdio",
        ("{app}/Code/User/mcp.json", "{app}/Code - Insiders/User/mcp.json", "{app}/VSCodium/User/mcp.json"),
        ".vscode/mcp.json",
        comments=True,
        after="Start it from the command MCP: List Servers.",
    ),
    "cursor": Client(
        "Cursor", ("mcpServers",), "plain", ("{home}/.cursor/mcp.json",), ".cursor/mcp.json", comments=True
    ),
    "windsurf": Client("Windsurf", ("mcpServers",), "plain", ("{home}/.codeium/windsurf/mcp_config.json",)),
    "gemini-cli": Client(
        "Gemini CLI",
        ("mcpServers",),
        "plain",
        ("{home}/.gemini/settings.json",),
        ".gemini/settings.json",
        comments=True,
        after="Start it anew; /mcp shows the server.",
    ),
    "codex": Client(
        "Codex",
        ("mcp_servers",),
        "codex",
        ("{CODEX_HOME}/config.toml", "{home}/.codex/config.toml"),
        ".codex/config.toml",
        comments=True,
        after="Start it anew; /mcp shows the server.",
    ),
    "zed": Client(
        "Zed",
        ("context_servers",),
        "zed",
        ("{zed}/settings.json",),
        ".zed/settings.json",
        comments=True,
        after="It starts the server by itself.",
    ),
    "cline": Client(
        "Cline",
        ("mcpServers",),
        "plain",
        (
            "{home}/.cline/data/settings/cline_mcp_settings.json",
            f"{_VS_CODE_STORAGE}/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        ),
    ),
    "roo-code": Client(
        "Roo Code",
        ("mcpServers",),
        "plain",
        (f"{_VS_CODE_STORAGE}/rooveterinaryinc.roo-cline/settings/mcp_settings.json",),
        ".roo/mcp.json",
    ),
    "copilot-cli": Client(
        "GitHub Copilot CLI",
        ("mcpServers",),
        "copilot",
        ("{COPILOT_HOME}/mcp-config.json", "{home}/.copilot/mcp-config.json"),
        after="Start it anew; /mcp show lists the server.",
    ),
    "opencode": Client(
        "opencode",
        ("mcp",),
        "opencode",
        ("{config}/opencode/opencode.json", "{config}/opencode/opencode.jsonc"),
        "opencode.json",
        comments=True,
        after="Start it anew.",
    ),
    "lm-studio": Client("LM Studio", ("mcpServers",), "plain", ("{home}/.lmstudio/mcp.json",)),
    "kiro": Client("Kiro", ("mcpServers",), "plain", ("{home}/.kiro/settings/mcp.json",), ".kiro/settings/mcp.json"),
}

_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")


def places(client: Client, machine: Machine) -> list[str]:
    """The files in which this client's servers may stand, best first. Empty where no home folder is known."""
    found = []
    for template in client.places:
        names = _PLACEHOLDER.findall(template)
        folders = {name: folder(name, machine) for name in names}
        if all(folders.values()):
            path = _PLACEHOLDER.sub(lambda match, known=folders: known[match[1]], template)  # type: ignore[misc]
            found.append(path.replace("/", "\\") if machine.platform == "win32" else path)
    return found


def folder(name: str, machine: Machine) -> str | None:
    """What a placeholder stands for; None if this machine has no such thing."""
    platform, environ = machine
    home = home_folder(environ, platform)
    join = flavour(platform).join
    config = value_of("XDG_CONFIG_HOME", environ, platform) if platform not in ("darwin", "win32") else None
    if name == "home" or home is None:
        return home if name == "home" else None
    if name == "config":
        return config or str(join(home, ".config"))
    if name == "app":
        if platform == "win32":
            return value_of("APPDATA", environ, platform) or str(join(home, "AppData", "Roaming"))
        return str(join(home, "Library", "Application Support")) if platform == "darwin" else folder("config", machine)
    if name == "local":
        return value_of("LOCALAPPDATA", environ, platform) if platform == "win32" else None
    if name == "zed":
        return str(
            join(folder("app" if platform == "win32" else "config", machine), "Zed" if platform == "win32" else "zed")
        )
    return value_of(name, environ, platform)

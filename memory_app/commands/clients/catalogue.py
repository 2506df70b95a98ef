"""The clients: names, files, formats. A place is a template, so that it can be computed for any system on any other.

| in a template | Linux and others | macOS | Windows |
|---|---|---|---|
| `{home}` | the home folder | the home folder | %USERPROFILE% |
| `{app}` | $XDG_CONFIG_HOME or ~/.config | ~/Library/Application Support | %APPDATA% |
| `{config}` | $XDG_CONFIG_HOME or ~/.config | ~/.config | ~/.config |
| `{local}` | - | - | %LOCALAPPDATA% |
| `{NAME}` | the environment variable NAME; a template is skipped if its variable is not set | the same | the same |
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from memory_app.location.environment import value_of
from memory_app.location.expansion import flavour, home_folder

Style = Literal["plain", "stdio", "copilot", "opencode", "zed", "codex", "goose", "librechat", "continue"]
Language = Literal["json", "toml", "yaml"]


class Machine(NamedTuple):
    """What a client's place depends on."""

    platform: str
    environ: Mapping[str, str]


class Client(NamedTuple):
    """One client.

    `keys` lead to the object that holds the servers. `places` are the user's files, of which the first that exists is
    used. `project` is the file within a project, None if the client has none. `comments`: its JSON may contain
    comments. `fills` matches what the client substitutes where an entry contains a variable. `name` is the name of our
    server there. `older` are places that the client once used and may still read: files, with the keys within.
    `by_hand` says what to do if there is no file that we can write. `program` is the client's own command, "" if it has
    none.
    """

    title: str
    keys: tuple[str, ...]
    style: Style
    places: tuple[str, ...]
    project: str | None = None
    comments: bool = False
    after: str = "Restart it, or reload its MCP servers."
    fills: str = ""
    name: str = "memory"
    older: tuple[tuple[str, tuple[str, ...]], ...] = ()
    by_hand: str = ""
    program: str = ""

    @property
    def language(self) -> Language:
        if self.style == "codex":
            return "toml"
        return "yaml" if self.style in ("goose", "librechat", "continue") else "json"

    @property
    def as_list(self) -> bool:
        """Whether the servers are a list, each with its name, instead of a mapping by names."""
        return self.style == "continue"


_BRACED: Final = r"\$\{[A-Za-z_]\w*\}"
_BRACED_OR_PLAIN: Final = rf"{_BRACED}|\$[A-Za-z_]\w*"
_WITH_DEFAULT: Final = r"\$\{[A-Za-z_]\w*(?::-[^}]*)?\}"
_OF_VS_CODE: Final = (
    r"\$\{(?:workspaceFolder|workspaceFolderBasename|userHome|cwd|pathSeparator|/|file\w*|relativeFile\w*|execPath"
    r"|workspaceFolder:[^}]*|(?:env|input|config|command):[^}]*)\}"
)
_OF_CURSOR: Final = r"\$\{(?:workspaceFolder|workspaceFolderBasename|userHome|pathSeparator|/|env:[^}]*)\}"
"""What a client fills in, as its documentation lists it or as it was seen to; what is in neither is not filled in.

| client | where it is said |
|---|---|
| Claude Code | https://code.claude.com/docs/en/mcp, and seen in 2.1.332 |
| VS Code | https://code.visualstudio.com/docs/reference/variables-reference |
| Cursor | https://cursor.com/docs/context/mcp |
| Windsurf | https://docs.windsurf.com/windsurf/cascade/mcp |
| Gemini CLI | https://geminicli.com/docs/cli/configuration; the form with a default was seen in 0.61.0 |
| Qwen Code | seen: `$NAME` and `${NAME}` are filled in, a default is not |
| Roo Code | https://docs.roocode.com/features/mcp/using-mcp-in-roo, and its source |
| GitHub Copilot CLI | https://docs.github.com/en/copilot/reference/copilot-cli-reference |
| opencode | https://opencode.ai/docs/config, and seen in 1.18.33 |
| Kiro | https://kiro.dev/docs/mcp/configuration: only variables that the user approved |
| Continue | https://docs.continue.dev/reference |
| LibreChat | https://www.librechat.ai/docs/configuration/librechat_yaml/object_structure/mcp_servers, and its source |
"""

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
        fills=_WITH_DEFAULT,
        program="claude",
    ),
    "vscode": Client(
        "Visual Studio Code",
        ("servers",),
        "stdio",
        ("{app}/Code/User/mcp.json", "{app}/Code - Insiders/User/mcp.json", "{app}/VSCodium/User/mcp.json"),
        ".vscode/mcp.json",
        comments=True,
        after="Start it from the command MCP: List Servers.",
        fills=_OF_VS_CODE,
        older=(("{app}/Code/User/settings.json", ("mcp", "servers")),),
        program="code",
    ),
    "cursor": Client(
        "Cursor",
        ("mcpServers",),
        "plain",
        ("{home}/.cursor/mcp.json",),
        ".cursor/mcp.json",
        comments=True,
        fills=_OF_CURSOR,
        program="cursor",
    ),
    "windsurf": Client(
        "Windsurf",
        ("mcpServers",),
        "plain",
        ("{home}/.codeium/windsurf/mcp_config.json",),
        fills=r"\$\{(?:env|file):[^}]*\}",
        program="windsurf",
    ),
    "gemini-cli": Client(
        "Gemini CLI",
        ("mcpServers",),
        "plain",
        ("{home}/.gemini/settings.json",),
        ".gemini/settings.json",
        comments=True,
        after="Restart it in a folder that it trusts; /mcp shows the server.",
        fills=rf"{_WITH_DEFAULT}|{_BRACED_OR_PLAIN}",
        program="gemini",
    ),
    "qwen-code": Client(
        "Qwen Code",
        ("mcpServers",),
        "plain",
        ("{home}/.qwen/settings.json",),
        ".qwen/settings.json",
        comments=True,
        after="Restart it; /mcp shows the server.",
        fills=_BRACED_OR_PLAIN,
        program="qwen",
    ),
    "antigravity": Client(
        "Antigravity",
        ("mcpServers",),
        "plain",
        ("{home}/.gemini/config/mcp_config.json", "{home}/.gemini/antigravity/mcp_config.json"),
        after="Open MCP Servers > Manage MCP Servers in its agent panel and press Refresh.",
    ),
    "codex": Client(
        "Codex",
        ("mcp_servers",),
        "codex",
        ("{CODEX_HOME}/config.toml", "{home}/.codex/config.toml"),
        ".codex/config.toml",
        comments=True,
        after="Restart it; /mcp shows the server.",
        program="codex",
    ),
    "zed": Client(
        "Zed",
        ("context_servers",),
        "zed",
        ("{zed}/settings.json",),
        ".zed/settings.json",
        comments=True,
        after="It starts the server by itself.",
        program="zed",
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
        fills=r"\$\{(?:env:[^}]*|workspaceFolder)\}",
    ),
    "copilot-cli": Client(
        "GitHub Copilot CLI",
        ("mcpServers",),
        "copilot",
        ("{COPILOT_HOME}/mcp-config.json", "{home}/.copilot/mcp-config.json"),
        ".github/mcp.json",  # it reads .mcp.json instead if that exists; seen in 1.0.102
        after="Restart it; /mcp show lists the server.",
        fills=_WITH_DEFAULT,
        program="copilot",
    ),
    "opencode": Client(
        "opencode",
        ("mcp",),
        "opencode",
        ("{config}/opencode/opencode.json", "{config}/opencode/opencode.jsonc"),
        "opencode.json",
        comments=True,
        after="Restart it.",
        fills=r"\{(?:env|file):[^}]*\}",
        program="opencode",
    ),
    "lm-studio": Client("LM Studio", ("mcpServers",), "plain", ("{home}/.lmstudio/mcp.json",)),
    "kiro": Client(
        "Kiro",
        ("mcpServers",),
        "plain",
        ("{home}/.kiro/settings/mcp.json",),
        ".kiro/settings/mcp.json",
        fills=_BRACED,
        program="kiro",
    ),
    "jetbrains": Client(
        "JetBrains Junie",
        ("mcpServers",),
        "plain",
        ("{home}/.junie/mcp/mcp.json",),
        ".junie/mcp/mcp.json",
        after="Junie reads it by itself. For AI Assistant paste the entry into Settings > Tools > AI Assistant > MCP.",
    ),
    "goose": Client(
        "goose",
        ("extensions",),
        "goose",
        ("{goose}/config.yaml",),
        after="Start a new session; `goose info -v` shows the extensions.",
        name="memory-server",  # goose has its own extension called memory
        program="goose",
    ),
    "continue": Client(
        "Continue",
        ("mcpServers",),
        "continue",
        ("{home}/.continue/config.yaml",),
        after="Continue reads it by itself; MCP servers are available in agent mode.",
        fills=r"\$\{\{\s*(?:secrets|inputs)\.[^}]*\}\}",
    ),
    "librechat": Client(
        "LibreChat",
        ("mcpServers",),
        "librechat",
        (),
        "librechat.yaml",
        after="Restart LibreChat. In a container it needs Python, the archive and the memory's folder inside.",
        fills=_BRACED,
    ),
    "open-webui": Client(
        "Open WebUI",
        ("mcpServers",),
        "plain",
        (),
        by_hand="Give a file with this to mcpo (mcpo --port 8000 --config FILE) and add its address to Open WebUI as a "
        "tool server. Or start `serve --http` and add that address as an MCP server.",
    ),
    "n8n": Client(
        "n8n",
        ("mcpServers",),
        "plain",
        (),
        by_hand="n8n's MCP Client Tool takes an address: start `serve --http` and enter its address and token there.",
    ),
}

_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")


def places(client: Client, machine: Machine) -> list[str]:
    """The files in which this client's servers may be, best first. Empty if no home folder is known."""
    return [path for template in client.places if (path := _fill(template, machine)) is not None]


def older_places(client: Client, machine: Machine) -> list[tuple[str, tuple[str, ...]]]:
    """The files in which the client once kept its servers, each with the keys that lead to them."""
    return [(path, keys) for template, keys in client.older if (path := _fill(template, machine)) is not None]


def _fill(template: str, machine: Machine) -> str | None:
    folders = {name: folder(name, machine) for name in _PLACEHOLDER.findall(template)}
    if not all(folders.values()):
        return None
    path = _PLACEHOLDER.sub(lambda match: folders[match[1]] or "", template)
    return path.replace("/", "\\") if machine.platform == "win32" else path


def folder(name: str, machine: Machine) -> str | None:
    """The value of a placeholder; None if this machine has none."""
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
    if name == "goose":
        windows = platform == "win32"
        return str(
            join(folder("app", machine), "Block", "goose", "config") if windows else join(home, ".config", "goose")
        )
    if name == "zed":
        return str(
            join(folder("app" if platform == "win32" else "config", machine), "Zed" if platform == "win32" else "zed")
        )
    return value_of(name, environ, platform)

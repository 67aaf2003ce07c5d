"""Any MCP server: its tools called over one connection that is kept, on one corpus at a time."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, cast

from assay.engines.base import Context, TimedSession
from assay.engines.command.workplace import hidden_values
from assay.engines.http.literals import check_literals, literal_secrets, recorded_url
from assay.engines.mcp.settings import WHERE, Settings, calls_of, check_settings, split_command
from assay.engines.reading.output import Layout, make_layout
from assay.engines.templates import named_secrets, names_place
from assay.errors import EnvironmentFailure
from assay.http import read_token
from assay.settings import read_settings
from assay.types import Corpus, Role

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["McpEngine", "Settings", "make"]

# Limits of a start and of an index change no ranking.
_UNRECORDED = frozenset({"index_timeout", "startup_timeout", "restarts"})
_NAMED_ONLY = frozenset({"env", "headers"})


@dataclass(frozen=True, slots=True)
class McpEngine:
    """An MCP server with its templates; what the variables in them hold is read when it is needed, and kept nowhere."""

    settings: Settings
    layout: Layout
    folders: Mapping[str, str]  # {here} and {preset}
    role: Role = "contestant"
    notes: tuple[str, ...] = ()
    parallel: int = 1

    @property
    def oversample(self) -> int:
        """What the settings say."""
        return self.settings.oversample

    @property
    def git(self) -> bool:
        """What the settings say."""
        return self.settings.git

    @property
    def private(self) -> bool:
        """Whether the server is ours, which may leave its index beside the code, or is told where the code is."""
        named = any(names_place(_templates(self.settings), place) for place in ("root", "store"))
        return bool(self.settings.command) or named

    @property
    def secrets(self) -> tuple[str, ...]:
        """The token, the variables in the templates, the server's environment, and keys in the address."""
        settings = self.settings
        token = read_token(settings.token_env)
        found = [
            *named_secrets(_templates(settings)),
            *hidden_values(settings.env),
            *literal_secrets(settings.url),
            token,
        ]
        return tuple(dict.fromkeys(value for value in found if value))

    @property
    def config(self) -> Mapping[str, object]:
        """The templates as they are written and how the answers are read; of environment and headers the names."""
        settings = self.settings
        kept = {field.name: getattr(settings, field.name) for field in fields(settings)}
        plain = {name: value for name, value in kept.items() if name not in _UNRECORDED | _NAMED_ONLY}
        calls = {name: [asdict(call) for call in calls_of(kept[name])] for name in ("index", "update")}
        named = {name: sorted(kept[name]) for name in _NAMED_ONLY}
        digest = {"env_digest": _digest(settings.env)} if settings.env else {}
        command = list(split_command(settings.command))
        return {
            "kind": "mcp",
            **plain,
            **calls,
            **named,
            **digest,
            "command": command,
            "url": recorded_url(settings.url),
        }

    def open(self, corpus: Corpus) -> TimedSession:
        """Start the server and let it index, with no limit but its own."""
        return self.open_within(corpus, None)

    def open_within(self, corpus: Corpus, seconds: float | None) -> TimedSession:
        """Start the server and let it index; the shortest of the time limits holds."""
        session = _session_module().McpSession(self, corpus)
        try:
            session.start(seconds)
        except BaseException:
            session.close()
            raise
        return cast(TimedSession, session)


def make(settings: Mapping[str, object], context: Context) -> McpEngine:
    """Make the engine from its settings; what is wrong with them is said before anything is started."""
    read = read_settings(Settings, settings, WHERE)
    check_settings(read)
    if read.url:
        check_literals(WHERE, read.url, read.headers, {})
    check_literals(WHERE, "", {}, [read.arguments, *(call.arguments for call in calls_of(read.index))])
    folders = {"here": os.path.abspath(context.folder)}
    folders |= {"preset": str(Path(context.preset).absolute())} if context.preset else {}
    engine = McpEngine(read, make_layout(read, WHERE), folders)
    engine.secrets  # noqa: B018 - a variable that is not set is an error now, not in the middle of a run
    _session_module()  # takes half a second, which is not the server's
    return engine


def _session_module() -> ModuleType:
    """Import what needs the mcp package, or say how to get it."""
    try:
        from assay.engines.mcp import session
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] not in ("anyio", "httpx2", "mcp", "mcp_types"):
            raise
        raise EnvironmentFailure(
            "engine mcp: the mcp package is not installed", hint="pip install 'assay[mcp]'"
        ) from problem
    return session


def _templates(settings: Settings) -> list[object]:
    """List everything that may hold a placeholder."""
    calls = [call.arguments for name in ("index", "update") for call in calls_of(getattr(settings, name))]
    filters = [settings.path_filter, settings.language_filter]
    return [
        split_command(settings.command),
        settings.url,
        settings.headers,
        settings.env,
        settings.arguments,
        *calls,
        *filters,
    ]


def _digest(env: Mapping[str, str]) -> str:
    """Tell environments apart without saying what is in them."""
    return hashlib.sha256("\0".join(f"{name}={env[name]}" for name in sorted(env)).encode()).hexdigest()[:12]

"""Any MCP server: its tools called over one connection that is kept, on one corpus at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, cast

from assay.engines.base import Context, TimedSession
from assay.engines.folders import place_names, settled_places
from assay.engines.mcp.settings import WHERE, Settings, Templates, named_templates, read_templates
from assay.engines.reading.output import Layout, make_layout
from assay.engines.reading.settings import ReadingSettings
from assay.engines.secrets import recorded_table, recorded_url, secret_values
from assay.engines.templates import names_place
from assay.errors import EngineError, EnvironmentFailure, install_hint
from assay.settings import read_settings
from assay.types import Corpus, Role

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["McpEngine", "Settings", "make"]

# Limits of a start and of an index change no ranking.
_UNRECORDED = frozenset({"startup_timeout", "restarts", *(field.name for field in fields(ReadingSettings))})


@dataclass(frozen=True, slots=True)
class McpEngine:
    """An MCP server with its templates; what the variables in them hold is read when it is needed, and kept nowhere."""

    settings: Settings
    layout: Layout
    templates: Templates
    places: Mapping[str, str]  # {here} and {preset}
    role: Role = "contestant"
    notes: tuple[str, ...] = ()
    identity: str | None = None  # what a program or a server is today is not known
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
        named = any(names_place(self.named, place) for place in ("root", "store"))
        return bool(self.templates.command) or named

    @property
    def named(self) -> Mapping[str, object]:
        """Everything that may hold a placeholder."""
        return named_templates(self.settings, self.templates)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The token, the variables in the templates, the server's environment, and keys in the address."""
        settings = self.settings
        return secret_values(self.named, env=settings.env, urls=[settings.url], token_env=settings.token_env)

    @property
    def config(self) -> Mapping[str, object]:
        """The templates as they are written and how the answers are read; of environment and headers the names."""
        settings, templates = self.settings, self.templates
        own = {one.name: getattr(settings, one.name) for one in fields(settings) if one.name not in _UNRECORDED}
        own |= {name: list(getattr(templates, name)) for name in ("command", "index_command")}
        own |= {"url": recorded_url(settings.url), "index": [asdict(call) for call in templates.index]}
        told = settings.update if isinstance(settings.update, str) else ""
        own |= {"update": told or [asdict(call) for call in templates.update]}
        own |= {**recorded_table("env", settings.env), **recorded_table("headers", settings.headers)}
        return {"kind": "mcp", **own, **settings.recorded()}

    def open(self, corpus: Corpus) -> TimedSession:
        """Start the server and let it index, with no limit but its own."""
        return self.open_within(corpus, None)

    def open_within(self, corpus: Corpus, seconds: float | None) -> TimedSession:
        """Start the server and let it index; the shortest of the time limits holds."""
        sessions = _session_module()
        follows = self.settings.update or self.templates.update
        session = (sessions.FollowingMcpSession if follows else sessions.McpSession)(self, corpus)
        try:
            session.start(seconds)
        except BaseException as problem:
            session.close()
            if isinstance(problem, EngineError):
                problem.stderr = session.said()
            raise
        return cast(TimedSession, session)


def make(settings: Mapping[str, object], context: Context) -> McpEngine:
    """Make the engine from its settings; what is wrong with them is said before anything is started."""
    read = read_settings(Settings, settings, WHERE)
    places = settled_places(context)
    engine = McpEngine(read, make_layout(read, WHERE), read_templates(read, place_names(places)), places)
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
        raise EnvironmentFailure("engine mcp: the mcp package is not installed", hint=install_hint("mcp")) from problem
    return session

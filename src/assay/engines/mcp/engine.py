"""Any MCP server: its tools called over one connection that is kept, on one corpus at a time."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, cast

from assay.digests import digest_of
from assay.engines.base import Context, TimedSession
from assay.engines.configs.rendering import ConfigTemplate, check_config_is_used, read_config, recorded_config
from assay.engines.fingerprints import Told, fingerprint_of, seen_of
from assay.engines.folders import place_names, settled_places
from assay.engines.indexes.keys import (
    Declared,
    Indexing,
    Maker,
    index_config,
    index_env,
    read_indexing,
)
from assay.engines.indexes.place import Spot
from assay.engines.indexes.session import Sharing
from assay.engines.mcp.settings import WHERE, Settings, Templates, named_templates, read_templates
from assay.engines.programs import file_facts
from assay.engines.reading.output import Layout, make_layout
from assay.engines.reading.settings import ReadingSettings
from assay.engines.secrets import recorded_table, recorded_url, secret_values
from assay.engines.templates import named_secrets, names_place
from assay.errors import EngineError, EnvironmentFailure, install_hint
from assay.settings import read_settings
from assay.types import Corpus, Role

if TYPE_CHECKING:
    from types import ModuleType

    from assay.engines.mcp.session import McpSession

__all__ = ["McpEngine", "Settings", "make"]

# Limits of a start and of an index change no ranking.
_UNRECORDED = frozenset(
    {"startup_timeout", "restarts", "config", "index_keys", *(field.name for field in fields(ReadingSettings))}
)


@dataclass(frozen=True, slots=True)
class McpEngine(Sharing):
    """An MCP server with its templates; what the variables in them hold is read when it is needed, and kept nowhere."""

    settings: Settings
    layout: Layout
    templates: Templates
    places: Mapping[str, str]  # {here} and {preset}
    indexing: Indexing
    template: ConfigTemplate | None = None  # of a file for the server
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
        named = any(names_place(self.texts, place) for place in ("root", "store"))
        return bool(self.templates.command) or named

    @property
    def named(self) -> Mapping[str, object]:
        """Everything that may hold a placeholder."""
        return named_templates(self.settings, self.templates)

    @property
    def texts(self) -> list[object]:
        """The same, with what is said in a file for the server."""
        return [self.named, *(self.template.said if self.template else ())]

    @property
    def wants_store(self) -> bool:
        """Whether it names {store}."""
        return names_place(self.texts, "store")

    @property
    def secrets(self) -> tuple[str, ...]:
        """The token, the variables in the templates, the server's environment, and keys in the address."""
        settings = self.settings
        own = secret_values(self.named, env=settings.env, urls=[settings.url], token_env=settings.token_env)
        return (*own, *(self.template.secrets if self.template else ()))

    @property
    def fingerprint(self) -> str:
        """The templates, the programs, the files and the values of variables that they name."""
        settings = self.settings
        told = Told(self.places, self.templates.commands(), settings.env, self.texts, settings.token_env)
        return fingerprint_of(self.config, seen_of(told))

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
        own |= recorded_config(self.template, settings.index_keys)
        return {"kind": "mcp", **own, **settings.recorded()}

    def open(self, corpus: Corpus) -> TimedSession:
        """Start the server and let it index, with no limit but its own."""
        return self.open_within(corpus, None)

    def open_within(self, corpus: Corpus, seconds: float | None) -> TimedSession:
        """Start the server and let it index; the shortest of the time limits holds."""
        return self.open_at(Spot(corpus), seconds, indexed=False)

    def open_at(self, spot: Spot, seconds: float | None, *, indexed: bool) -> McpSession:
        """Start the server where the index is, or where it is to make one."""
        sessions = _session_module()
        follows = self.settings.update or self.templates.update
        session = (sessions.FollowingMcpSession if follows else sessions.McpSession)(self, spot, indexed=indexed)
        with _closed_on_failure(session):
            session.start(seconds)
        return cast("McpSession", session)

    def make_index(self, spot: Spot, seconds: float | None) -> str:
        """Run what makes the index, or a server until it has one, told what belongs to that alone."""
        session = cast("McpSession", _session_module().McpSession(self._for_index(), spot, indexed=False))
        with _closed_on_failure(session):
            session.make_index(seconds, serve=self.indexing.maker != "program")
        session.close()
        return session.said()

    def tool_facts(self, corpus: Corpus) -> list[object]:  # noqa: ARG002 - a program that tells its version needs it
        """Look at the files of the server; and read the variables that its index depends on."""
        engine = self._for_index()
        calls = [call.arguments for call in self.templates.index]
        said = engine.template.said if engine.template else []
        named = [self.templates.index_command, self.templates.command, engine.settings.env, calls, said]
        return [*file_facts(self.templates.commands(), self.places), digest_of(named_secrets(named))]

    def _for_index(self) -> McpEngine:
        """Give the engine with what belongs to its index alone."""
        named = self.indexing.named
        settings = replace(self.settings, env=index_env(self.settings.env, named))
        return replace(self, settings=settings, template=index_config(self.template, named))


@contextmanager
def _closed_on_failure(session: McpSession) -> Iterator[None]:
    """Leave nothing behind when a server does not open, and keep what it said."""
    try:
        yield
    except BaseException as problem:
        session.close()
        if isinstance(problem, EngineError):
            problem.stderr = session.said()
        raise


def make(settings: Mapping[str, object], context: Context) -> McpEngine:
    """Make the engine from its settings; what is wrong with them is said before anything is started."""
    read = read_settings(Settings, settings, WHERE)
    places = settled_places(context)
    config = read_config(read.config, places, WHERE)
    templates = read_templates(read, place_names(places, config))
    check_config_is_used(config, named_templates(read, templates), WHERE)
    indexing = _indexing(read, templates, places, config)
    engine = McpEngine(read, make_layout(read, WHERE), templates, places, indexing, config)
    engine.secrets  # noqa: B018 - a variable that is not set is an error now, not in the middle of a run
    _session_module()  # takes half a second, which is not the server's
    return engine


def _indexing(
    settings: Settings, templates: Templates, places: Mapping[str, str], config: ConfigTemplate | None
) -> Indexing:
    """Say what decides the index: that of a server that makes it itself is decided by the server's command too."""
    texts = [named_templates(settings, templates), *(config.said if config else ())]
    calls = bool(templates.index) and settings.index_keys is not None
    starts = not templates.index_command and bool(templates.command) and names_place(texts, "store")
    maker: Maker = "nobody"
    if calls and settings.url:
        maker = "server"
    elif calls or (starts and not templates.index):
        maker = "itself"
    elif templates.index_command:
        maker = "program"
    own = {"itself": ("command",), "server": ("url", "token_env", "headers")}.get(maker, ())
    always = ("index_command", "index", "git", "update", *own)
    about = shlex.join(templates.index_command) or " ".join(call.tool for call in templates.index)
    address = recorded_url(settings.url) if maker == "server" else ""
    return read_indexing(Declared(WHERE, settings, always, maker, places, config, about, address))


def _session_module() -> ModuleType:
    """Import what needs the mcp package, or say how to get it."""
    try:
        from assay.engines.mcp import session
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] not in ("anyio", "httpx2", "mcp", "mcp_types"):
            raise
        raise EnvironmentFailure("engine mcp: the mcp package is not installed", hint=install_hint("mcp")) from problem
    return session

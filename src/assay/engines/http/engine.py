"""Any search API: a request for each query, over connections that are kept."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from assay.engines.base import Context, TimedSession
from assay.engines.http.literals import check_literals, literal_secrets, recorded_url
from assay.engines.http.requests import Sender, check_request, requests_of, templates_of
from assay.engines.http.session import HttpSession
from assay.engines.http.settings import Request, Settings
from assay.engines.reading.output import Layout, make_layout
from assay.engines.reading.selectors import parse_selector
from assay.engines.templates import ASKED, check_template, named_secrets, names_place
from assay.errors import ConfigError
from assay.http import read_token
from assay.settings import read_settings
from assay.types import Corpus, Role

_FILTERS = {"path_filter": "path", "language_filter": "language"}
_LAYOUT = ("format", "path", "start", "end", "score", "pattern", "nothing")
_RECORDED = (*_LAYOUT, *_FILTERS, "timeout", "oversample")

__all__ = ["HttpEngine", "Settings", "make"]


@dataclass(frozen=True, slots=True)
class HttpEngine:
    """A search API with its templates; what the variables in them hold is read when it is needed, and kept nowhere."""

    settings: Settings
    layout: Layout
    folders: Mapping[str, str]  # {here} and {preset}
    role: Role = "contestant"
    notes: tuple[str, ...] = ()
    git: bool = False

    @property
    def oversample(self) -> int:
        """What the settings say."""
        return self.settings.oversample

    @property
    def parallel(self) -> int:
        """What the settings say."""
        return self.settings.concurrency

    @property
    def private(self) -> bool:
        """Whether the server works on the corpus where it lies, or leaves an index there."""
        return any(names_place(templates_of(self.settings), place) for place in ("root", "store"))

    @property
    def secrets(self) -> tuple[str, ...]:
        """The token, the variables in the templates, and what looks like a key in an address."""
        settings = self.settings
        keys = [key for request in requests_of(settings).values() for key in literal_secrets(request.url)]
        token = read_token(settings.token_env)
        return tuple(dict.fromkeys([*named_secrets(templates_of(settings)), *keys, *([token] if token else [])]))

    @property
    def config(self) -> Mapping[str, object]:
        """The templates as they are written and how the answers are read; no value of a variable."""
        settings = self.settings
        requests = {name: _recorded(request) for name, request in requests_of(settings).items()}
        search = requests.pop("search")
        read = {name: getattr(settings, name) for name in _RECORDED}
        return {"kind": "http", **search, **requests, **read}

    def open(self, corpus: Corpus) -> TimedSession:
        """Let the server index the corpus, with no limit but its own."""
        return self.open_within(corpus, None)

    def open_within(self, corpus: Corpus, seconds: float | None) -> TimedSession:
        """Let the server index the corpus; the shorter of the two time limits holds."""
        sender = Sender(self.settings.token_env, self.secrets)
        session = HttpSession(self.settings, self.layout, sender, corpus, self.folders)
        try:
            session.build_index(seconds)
        except BaseException:
            session.close()
            raise
        return session


def make(settings: Mapping[str, object], context: Context) -> HttpEngine:
    """Make the engine from its settings; what is wrong with them is said before anything is sent."""
    url = settings.get("url")
    if isinstance(url, str) and url.startswith("//"):  # `--engine http://host/...` is split at the first colon
        settings = {**settings, "url": f"http:{url}"}
    read = read_settings(Settings, settings, Settings.where)
    folders = {"here": os.path.abspath(context.folder)}
    folders |= {"preset": str(Path(context.preset).absolute())} if context.preset else {}
    places = (*folders, "root", "store")
    for name, request in requests_of(read).items():
        asked = ASKED if name == "search" else ()
        check_request(request, places, asked, Settings.where if name == "search" else f"{Settings.where}: {name}")
    _check(read)
    read_token(read.token_env)
    return HttpEngine(read, make_layout(read, Settings.where), folders)


def _check(settings: Settings) -> None:
    """Refuse a query that is never sent, a filter without a place, and readiness of nothing."""
    where = Settings.where
    if not names_place([settings.url, settings.body or ""], "query"):
        raise ConfigError(f"{where}: neither url nor body has {{query}}", hint="put {query} where the question goes")
    for name, place in _FILTERS.items():
        table = getattr(settings, name)
        check_template(table, (place,), f"{where}: {name}")
        check_literals(f"{where}: {name}", "", {}, table)
        if table and not names_place(table, place):
            raise ConfigError(f"{where}: {name} has no {{{place}}}", hint=f"write {{{place}}} where it goes")
        if table and isinstance(settings.body, str):
            raise ConfigError(f"{where}: {name} with a text as body", hint="write body as a table")
    if settings.ready is not None:
        parse_selector(settings.ready.path, f"{where}: ready: path")
        if settings.index is None and settings.update is None:
            raise ConfigError(f"{where}: ready without index", hint="name the request that it is to wait for")


def _recorded(request: Request) -> dict[str, object]:
    """Write a request down."""
    return {**asdict(request), "url": recorded_url(request.url)}

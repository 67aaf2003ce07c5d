"""Any search API: a request for each query, over connections that are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from assay.engines.base import Context, TimedSession
from assay.engines.filtering import Filters, read_filters
from assay.engines.folders import place_names, settled_places
from assay.engines.http.requests import Sender, check_request, requests_of, templates_of
from assay.engines.http.session import FollowingHttpSession, HttpSession
from assay.engines.http.settings import Request, Settings
from assay.engines.reading.output import Layout, make_layout
from assay.engines.reading.selectors import parse_selector
from assay.engines.secrets import check_written_out, recorded_table, recorded_url, secret_values
from assay.engines.templates import ASKED, names_place
from assay.errors import ConfigError
from assay.http import read_token
from assay.settings import read_settings
from assay.types import Corpus, Role

__all__ = ["HttpEngine", "Settings", "make"]


@dataclass(frozen=True, slots=True)
class HttpEngine:
    """A search API with its templates; what the variables in them hold is read when it is needed, and kept nowhere."""

    settings: Settings
    layout: Layout
    places: Mapping[str, str]  # {here} and {preset}
    filters: Filters = field(default_factory=Filters)
    role: Role = "contestant"
    notes: tuple[str, ...] = ()
    identity: str | None = None  # what a program or a server is today is not known
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
        urls = [request.url for request in requests_of(settings).values()]
        return secret_values(templates_of(settings), env={}, urls=urls, token_env=settings.token_env)

    @property
    def config(self) -> Mapping[str, object]:
        """The templates as they are written and how the answers are read; no value of a variable."""
        settings = self.settings
        requests = {name: _recorded(request) for name, request in requests_of(settings).items()}
        search = requests.pop("search")
        return {"kind": "http", **search, **requests, **self.filters.recorded(), **settings.recorded()}

    def open(self, corpus: Corpus) -> TimedSession:
        """Let the server index the corpus, with no limit but its own."""
        return self.open_within(corpus, None)

    def open_within(self, corpus: Corpus, seconds: float | None) -> TimedSession:
        """Let the server index the corpus; the shorter of the two time limits holds."""
        settings = self.settings
        follows = settings.update is not None or settings.index is not None
        session = (FollowingHttpSession if follows else HttpSession)(
            settings, self.layout, Sender(settings.token_env, self.secrets), corpus, self.places, self.filters
        )
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
    settled = settled_places(context)
    places = place_names(settled)
    for name, request in requests_of(read).items():
        asked = ASKED if name == "search" else ()
        check_request(request, places, asked, Settings.where if name == "search" else f"{Settings.where}: {name}")
    filters = read_filters(read.path_filter, read.language_filter, (*places, *ASKED), Settings.where)
    _check(read)
    read_token(read.token_env)
    return HttpEngine(read, make_layout(read, Settings.where), settled, filters)


def _check(settings: Settings) -> None:
    """Refuse a query that is never sent, filters that have no place to go, and readiness of nothing."""
    where = Settings.where
    if not names_place([settings.url, settings.body or ""], "query"):
        raise ConfigError(f"{where}: neither url nor body has {{query}}", hint="put {query} where the question goes")
    filters = {"path_filter": settings.path_filter, "language_filter": settings.language_filter}
    check_written_out(where, {**filters, "token_env": settings.token_env or ""})
    for name, table in filters.items():
        if table and isinstance(settings.body, str):
            raise ConfigError(f"{where}: {name} with a text as body", hint="write body as a table")
    if settings.ready is not None:
        parse_selector(settings.ready.path, f"{where}: ready: path")
        if settings.index is None and settings.update is None:
            raise ConfigError(f"{where}: ready without index", hint="name the request that it is to wait for")


def _recorded(request: Request) -> dict[str, object]:
    """Write a request down."""
    return {**asdict(request), "url": recorded_url(request.url), **recorded_table("headers", request.headers)}

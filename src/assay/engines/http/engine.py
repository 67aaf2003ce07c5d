"""Any search API: a request for each query, over connections that are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from assay.engines.base import Context, TimedSession
from assay.engines.configs.rendering import ConfigTemplate, check_config_is_used, read_config, recorded_config
from assay.engines.filtering import Filters, read_filters
from assay.engines.fingerprints import Told, fingerprint_of, seen_of
from assay.engines.folders import Files, Folders, place_names, settled_places
from assay.engines.http.requests import Sender, check_request, requests_of, templates_of
from assay.engines.http.session import FollowingHttpSession, HttpSession
from assay.engines.http.settings import Request, Settings
from assay.engines.indexes.keys import Declared, Indexing, Maker, index_config, read_indexing
from assay.engines.indexes.place import Spot
from assay.engines.indexes.session import Sharing
from assay.engines.reading.output import Layout, make_layout
from assay.engines.reading.selectors import parse_selector
from assay.engines.secrets import check_written_out, recorded_table, recorded_url, secret_values
from assay.engines.templates import ASKED, fill_url, names_place
from assay.errors import ConfigError
from assay.http import read_token, web_address
from assay.settings import read_settings
from assay.types import Corpus, Role

__all__ = ["HttpEngine", "Settings", "make"]


@dataclass(frozen=True, slots=True)
class HttpEngine(Sharing):
    """A search API with its templates; what the variables in them hold is read when it is needed, and kept nowhere."""

    settings: Settings
    layout: Layout
    places: Mapping[str, str]  # {here} and {preset}
    indexing: Indexing
    template: ConfigTemplate | None = None  # of a file for the server
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
        return any(names_place(self.texts, place) for place in ("root", "store"))

    @property
    def wants_store(self) -> bool:
        """Whether it names {store}."""
        return names_place(self.texts, "store")

    @property
    def texts(self) -> list[object]:
        """Everything that may hold a placeholder."""
        return [*templates_of(self.settings), *(self.template.said if self.template else ())]

    @property
    def secrets(self) -> tuple[str, ...]:
        """The token, the variables in the templates, and what looks like a key in an address."""
        settings = self.settings
        urls = [request.url for request in requests_of(settings).values()]
        own = secret_values(templates_of(settings), env={}, urls=urls, token_env=settings.token_env)
        return (*own, *(self.template.secrets if self.template else ()))

    @property
    def fingerprint(self) -> str:
        """The templates, and the files and values of variables that they name; of the server nothing is seen."""
        told = Told(self.places, texts=self.texts, token_env=self.settings.token_env)
        return fingerprint_of(self.config, seen_of(told))

    @property
    def config(self) -> Mapping[str, object]:
        """The templates as they are written and how the answers are read; no value of a variable."""
        settings = self.settings
        requests = {name: _recorded(request) for name, request in requests_of(settings).items()}
        search = requests.pop("search")
        own = {**self.filters.recorded(), **recorded_config(self.template, settings.index_keys)}
        return {"kind": "http", **search, **requests, **own, **settings.recorded()}

    def open(self, corpus: Corpus) -> TimedSession:
        """Let the server index the corpus, with no limit but its own."""
        return self.open_within(corpus, None)

    def open_within(self, corpus: Corpus, seconds: float | None) -> TimedSession:
        """Let the server index the corpus; the shorter of the two time limits holds."""
        return self.open_at(Spot(corpus), seconds, indexed=False)

    def open_at(self, spot: Spot, seconds: float | None, *, indexed: bool) -> HttpSession:
        """Open where the server has indexed, or let it do so first."""
        settings = self.settings
        follows = settings.update is not None or settings.index is not None
        files = Files(spot.store, self.template, index_config(self.template, self.indexing.named))
        folders = Folders(self.places, spot.corpus.root, self.texts, files)
        session = (FollowingHttpSession if follows else HttpSession)(
            settings, self.layout, Sender(settings.token_env, self.secrets), spot.corpus, folders, self.filters
        )
        try:
            if not indexed:
                session.build_index(seconds)
        except BaseException:
            session.close()
            raise
        return session

    def make_index(self, spot: Spot, seconds: float | None) -> str:
        """Let the server index, told what belongs to that alone; it says nothing that we could hear."""
        config = index_config(self.template, self.indexing.named)
        replace(self, template=config).open_at(spot, seconds, indexed=False).close()
        return ""

    def tool_facts(self, corpus: Corpus) -> list[object]:  # noqa: ARG002 - what is a program has them
        """Know nothing of a server."""
        return []


def make(settings: Mapping[str, object], context: Context) -> HttpEngine:
    """Make the engine from its settings; what is wrong with them is said before anything is sent."""
    url = settings.get("url")
    if isinstance(url, str) and url.startswith("//"):  # `--engine http://host/...` is split at the first colon
        settings = {**settings, "url": f"http:{url}"}
    read = read_settings(Settings, settings, Settings.where)
    settled = settled_places(context)
    config = read_config(read.config, settled, Settings.where)
    places = place_names(settled, config)
    for name, request in requests_of(read).items():
        asked = ASKED if name == "search" else ()
        check_request(request, places, asked, Settings.where if name == "search" else f"{Settings.where}: {name}")
    filters = read_filters(read.path_filter, read.language_filter, (*places, *ASKED), Settings.where)
    _check(read)
    check_config_is_used(config, templates_of(read), Settings.where)
    read_token(read.token_env)
    indexing = _indexing(read, settled, config)
    return HttpEngine(read, make_layout(read, Settings.where), settled, indexing, config, filters)


def _indexing(settings: Settings, places: Mapping[str, str], config: ConfigTemplate | None) -> Indexing:
    """Say what decides the index: what the server is told to make, and who is told."""
    index = settings.index
    address = "" if index is None else web_address(fill_url(index.url, dict.fromkeys(place_names(places), "x"))).netloc
    always = ("index", "update", "ready", "token_env")
    maker: Maker = "nobody" if index is None else "server"
    about = "" if index is None else recorded_url(index.url)
    return read_indexing(Declared(Settings.where, settings, always, maker, places, config, about, address))


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

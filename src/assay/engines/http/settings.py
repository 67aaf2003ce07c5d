"""What `kind = "http"` takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from assay.engines.configs.settings import ConfigSettings
from assay.engines.indexes.keys import ABOUT
from assay.engines.reading.settings import ReadingSettings
from assay.errors import ConfigError
from assay.settings import check_counts

Method = Literal["GET", "POST", "PUT"]
Body = Mapping[str, object] | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request: its address, and what is sent there."""

    url: str = field(metadata={"about": "the address"})
    method: Method | None = field(default=None, metadata={"about": "if not given POST with a body, else GET"})
    headers: Mapping[str, str] = field(default_factory=dict, metadata={"about": "sent with it"})
    body: Body | None = field(default=None, metadata={"about": "a table is sent as JSON, a text as it is"})
    form: bool = field(default=False, metadata={"about": "send the table as a form instead of JSON"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready(Request):
    """A question that is put until the answer says that the index is ready."""

    path: str = field(metadata={"about": "where in the JSON it stands"})
    value: object = field(default=True, metadata={"about": "what stands there when it is ready"})
    every: float = field(
        default=0.5,  # an index takes seconds to minutes, and half a second of it is not worth a busy server
        metadata={"about": "seconds between two questions"},
    )

    def __post_init__(self) -> None:
        """Refuse to ask without a pause."""
        if not self.every > 0:
            raise ConfigError(f"engine http: ready: every = {self.every:g}", hint="it must be more than 0 seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(ReadingSettings):
    """What `kind = "http"` takes.

    In the templates: {query} and {k}; {root} (the corpus), {here} (the folder of assay.toml), {store} (an empty folder
    of the engine's own), {config} (the file that is rendered from `config.template`); {env:NAME} for a secret. In an
    address they are percent-encoded, but for a variable that it begins with. In `index`, `update` and `ready` there is
    no query; in filters there are {path} and {language}.

    429, 5xx and broken connections are asked again, inside the time limit of the query. No redirect is followed.
    """

    where: ClassVar[str] = "engine http"

    url: str = field(metadata={"about": "the address, as in https://host/search?q={query}&limit={k}"})
    method: Method | None = field(default=None, metadata={"about": "if not given POST with a body, else GET"})
    headers: Mapping[str, str] = field(
        default_factory=dict, metadata={"about": "sent with every query; a secret is written {env:NAME}"}
    )
    body: Body | None = field(
        default=None, metadata={"about": "a table is sent as JSON, a text as it is; {k} alone is a number"}
    )
    form: bool = field(default=False, metadata={"about": "send the table as a form instead of JSON"})
    token_env: str | None = field(
        default=None, metadata={"about": "the variable that holds the bearer token, sent with every request"}
    )
    index: Request | None = field(
        default=None, metadata={"about": "made when the corpus is opened: url, method, headers, body, form"}
    )
    update: Request | None = field(
        default=None, metadata={"about": "made when files have changed; if not given, index is made again"}
    )
    ready: Ready | None = field(
        default=None,
        metadata={"about": "asked after index and update until path is value: url, path, value, every, headers, body"},
    )
    path_filter: Mapping[str, object] = field(
        default_factory=dict,
        metadata={"about": "added to the body, else to the address, for results under {path}, a glob"},
    )
    language_filter: Mapping[str, object] = field(
        default_factory=dict, metadata={"about": "the same for results in {language}"}
    )
    retries: int = field(default=2, metadata={"about": "how often a query is sent again; bridges a limit per second"})
    rate: float | None = field(
        default=None,
        metadata={"about": "requests a second at most; the wait for it is not the engine's time"},
    )
    config: ConfigSettings | None = field(
        default=None,
        metadata={"about": "a file for the server, {config}, rendered from template (format, edits, new_keys)"},
    )
    index_keys: tuple[str, ...] | None = field(default=None, metadata={"about": ABOUT})
    concurrency: int = field(default=1, metadata={"about": "how many queries may be in flight at once"})

    def __post_init__(self) -> None:
        """Refuse numbers without a meaning."""
        ReadingSettings.__post_init__(self)
        check_counts(self.where, concurrency=self.concurrency)
        if self.retries < 0:
            raise ConfigError(f"{self.where}: retries = {self.retries}", hint="it must be 0 or more")
        if self.rate is not None and not self.rate > 0:
            raise ConfigError(f"{self.where}: rate = {self.rate:g}", hint="it must be more than 0 requests a second")

    @property
    def search(self) -> Request:
        """The request that a query is."""
        return Request(url=self.url, method=self.method, headers=self.headers, body=self.body, form=self.form)

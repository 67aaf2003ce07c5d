"""The numbers of an audit, and why they are what they are."""

from __future__ import annotations

from dataclasses import dataclass

from assay.errors import ConfigError
from assay.types import TIME_LIMITS


@dataclass(frozen=True, slots=True)
class AuditConfig:
    """What is asked, how often and how deep."""

    queries: int = 20  # a law that is broken on 14 % of the queries is then seen with 95 % chance
    seed: int = 0
    k: int = 10
    repeats: int = 2  # times that each query is asked again in one session
    timeout: float = TIME_LIMITS.query  # seconds for one query, as in a run
    index_timeout: float = TIME_LIMITS.index  # seconds to open the engine, as in a run
    start: float = 60.0  # seconds that starting another interpreter and importing an engine there may take
    only: tuple[str, ...] = ()  # checks to make; none: all
    depths: tuple[int, ...] = (1, 5, 10, 20)  # each must begin the next
    deep: int = 100  # results asked for where as many as possible are wanted; more is beyond most tools' limits
    hash_seeds: tuple[int, ...] = (0, 1, 2)  # the first is what the others are compared with
    many_ties: float = 0.5  # share of neighbours with one score from which scores say little about the order
    nothing: int = 5  # queries asked under a filter that nothing passes: it fails on all or on none
    namesakes: int = 10  # names of files that are asked for under a filter, besides the ordinary queries
    targets: int = 60  # of a gold set that are looked for by asking, each with up to four questions
    passage: int = 300  # characters of a target's own text that are asked for: what every tool takes
    largest_edited: int = 200_000  # bytes; larger files are seldom written by people
    give_up: int = 3  # time-outs in a row after which no more odd queries are asked: each may take a minute
    shown: int = 5  # results of a ranking that an example shows at least

    def __post_init__(self) -> None:
        """Refuse an audit that asks nothing."""
        for name in ("queries", "k", "repeats"):
            if getattr(self, name) < 1:
                raise ConfigError(f"--{name} is {getattr(self, name)}", hint="it must be 1 or more")
        for name in ("timeout", "index_timeout"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"--{name} is {getattr(self, name):g}", hint="it must be more than 0 seconds")
        if self.seed < 0:
            raise ConfigError(f"--seed is {self.seed}", hint="seeds begin at 0")

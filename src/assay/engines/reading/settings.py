"""How the answers of a tool are read, and how long it may take: what `command`, `http` and `mcp` have in common."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import ClassVar, Literal

from assay.errors import ConfigError
from assay.settings import check_counts
from assay.types import TIME_LIMITS

Format = Literal["auto", "json", "jsonl", "text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingSettings:
    """What every kind of engine takes whose answers are read.

    A record that adds a `__post_init__` of its own calls this one by its name: slots leave `super()` no class.
    """

    where: ClassVar[str] = "engine"  # begins the messages; each kind has its own

    format: Format = field(
        default="auto", metadata={"about": "what the tool gives; text is a location on each line, or by pattern"}
    )
    path: str = field(default="", metadata={"about": "where in the JSON the path is, as in results[].file_path"})
    start: str = field(default="", metadata={"about": "where in the JSON the first line is"})
    end: str = field(default="", metadata={"about": "where in the JSON the last line is"})
    score: str = field(default="", metadata={"about": "where in the JSON the score is"})
    snippet: str = field(default="", metadata={"about": "where in the JSON the text of the result is"})
    tokens: str = field(default="", metadata={"about": "where in the JSON the tokens billed are, as in usage.tokens"})
    calls: str = field(default="", metadata={"about": "where in the JSON the calls billed are"})
    pattern: str = field(
        default="",
        metadata={
            "about": "for text: a regular expression with (?P<path>...) and perhaps start, end, score; "
            "what stands in ``` fences is the text of the result before it"
        },
    )
    nothing: str = field(
        default="", metadata={"about": "a regular expression for what the tool says when it finds nothing"}
    )
    failed: str = field(
        default="",
        metadata={
            "about": "a regular expression for what the tool says when it fails; an answer without results in which a "
            "line matches is an error with its words"
        },
    )
    oversample: int = field(
        default=1, metadata={"about": "how many times k to ask for, so that k distinct files are left; printed"}
    )
    timeout: float | None = field(
        default=None, metadata={"about": "seconds for a query, when less than the run's own limit"}
    )
    index_timeout: float = field(
        default=TIME_LIMITS.index,
        metadata={"about": "seconds to get ready for a corpus, when less than the run's own limit"},
    )

    def __post_init__(self) -> None:
        """Refuse numbers without a meaning."""
        check_counts(self.where, oversample=self.oversample)
        for name, seconds in (("timeout", self.timeout), ("index_timeout", self.index_timeout)):
            if seconds is not None and not seconds > 0:
                raise ConfigError(f"{self.where}: {name} = {seconds:g}", hint="it must be more than 0 seconds")

    def recorded(self) -> dict[str, object]:
        """Give how answers are read, for the records; how long an index may take shapes no ranking."""
        names = [field.name for field in fields(ReadingSettings) if field.name != "index_timeout"]
        return {name: getattr(self, name) for name in names}

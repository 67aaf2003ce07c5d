"""The engine under audit and its queries."""

from __future__ import annotations

import shlex
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.audit.records import AuditConfig, AuditQuery
from assay.engines.base import FullEngine, SearchFilter
from assay.experiment.spec.model import EngineFactory
from assay.types import Corpus, Query

if TYPE_CHECKING:
    from assay.gold.lint.rules import EngineReach


@dataclass(frozen=True, slots=True)
class ReproCommand:
    """What the user typed: the engine, the corpus, and where gold and configuration are."""

    engine: str
    corpus: str = ""  # empty: this folder, or what the gold set names
    gold: str = ""
    config: str = ""  # an assay.toml that is not this folder's

    def ask(self, query: str, k: int, wanted: SearchFilter | None = None, environment: str = "") -> str:
        """Write how to ask one query."""
        filters = wanted or SearchFilter()
        flags = [*self._flags(), "-k", str(k)]
        flags += [f"--paths={glob}" for glob in filters.paths] + [f"--language={name}" for name in filters.languages]
        named = [self.engine, query, *self._corpus()]
        words = [*flags, "--", *named] if query.startswith("-") else [*named, *flags]
        spelt = [shell_word(word) for word in ("assay", "engines", "ask", *words)]
        return " ".join([environment, *spelt] if environment else spelt)

    def audit(self, check: str, config: AuditConfig) -> str:
        """Write how to make one check again."""
        usual = AuditConfig()
        flags = {"-k": "k", "--queries": "queries", "--seed": "seed", "--repeats": "repeats", "--timeout": "timeout"}
        changed = [
            text
            for flag, name in flags.items()
            if getattr(config, name) != getattr(usual, name)
            for text in (flag, f"{getattr(config, name):g}")
        ]
        words = ["assay", "audit", self.engine, *self._corpus(), *self._flags(), "--only", check, *changed]
        return " ".join(map(shell_word, words))

    def _corpus(self) -> list[str]:
        return [self.corpus] if self.corpus else []

    def _flags(self) -> list[str]:
        gold = ["--gold", self.gold] if self.gold else []
        return [*gold, *(["--config", self.config] if self.config else [])]


def shell_word(text: str) -> str:
    """Quote a word for a shell; what cannot be seen is written as bash, zsh and ksh read it in $'…'."""
    if all(map(_is_plain, text)):
        return shlex.quote(text)
    escaped = "".join(_escaped(char) for char in text)
    return f"$'{escaped}'"


def _is_plain(char: str) -> bool:
    return char.isprintable() and not unicodedata.combining(char)


def _escaped(char: str) -> str:
    if char in "\\'":
        return f"\\{char}"
    return char if _is_plain(char) else "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class AuditTarget:
    """An engine and what it is asked about."""

    name: str
    engine: FullEngine
    corpus: Corpus
    questions: tuple[AuditQuery, ...]
    wording: ReproCommand
    recipe: EngineFactory | None = None  # how another process makes it; None for one that was handed in as an object
    gold: tuple[Query, ...] = ()  # queries whose targets should be reachable, anchors resolved
    reach: EngineReach | None = None  # all that the engine can return, where that is known
    ours: Callable[[str], bool] = field(default=lambda _: False)  # gold file and configuration in the corpus
    notes: tuple[str, ...] = ()

"""Shell commands that reproduce a finding."""

from __future__ import annotations

import shlex
import unicodedata
from dataclasses import dataclass

from assay.audit.records import AuditConfig
from assay.engines.base import SearchFilter


@dataclass(frozen=True, slots=True)
class ReproCommand:
    """The arguments of the user: engine, corpus, gold set and configuration."""

    engine: str
    corpus: str = ""  # default: this directory, or the corpus of the gold set
    gold: str = ""
    config: str = ""  # default: the assay.toml of this directory

    def query(self, query: str, k: int, search_filter: SearchFilter | None = None, environment: str = "") -> str:
        """Return the command that sends one query."""
        chosen = search_filter or SearchFilter()
        flags = [*self._flags(), "-k", str(k)]
        flags += [f"--paths={glob}" for glob in chosen.paths] + [f"--language={name}" for name in chosen.languages]
        names = [self.engine, query, *self._corpus()]
        words = [*flags, "--", *names] if query.startswith("-") else [*names, *flags]
        quoted = [shell_word(word) for word in ("assay", "engines", "query", *words)]
        return " ".join([environment, *quoted] if environment else quoted)

    def audit(self, check: str, config: AuditConfig) -> str:
        """Return the command that repeats one check."""
        default = AuditConfig()
        flags = {"-k": "k", "--queries": "queries", "--seed": "seed", "--repeats": "repeats", "--timeout": "timeout"}
        changed = [
            text
            for flag, name in flags.items()
            if getattr(config, name) != getattr(default, name)
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
    """Quote a word for a shell; invisible characters are escaped in $'…', as bash, zsh and ksh read it."""
    if all(map(_is_plain, text)):
        return shlex.quote(text)
    return f"$'{''.join(map(_escape, text))}'"


def _escape(char: str) -> str:
    if char in "\\'":
        return f"\\{char}"
    return char if _is_plain(char) else "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "replace"))


def _is_plain(char: str) -> bool:
    return char.isprintable() and not unicodedata.combining(char)

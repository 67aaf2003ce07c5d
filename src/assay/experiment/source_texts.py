"""Source texts of a recorded run, for reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.corpus.opening import LocalCorpus, find_local
from assay.corpus_changes import changed_since
from assay.errors import AssayError
from assay.experiment.corpora import is_corpus_here, reopen
from assay.syntax.text import line_bytes, line_sizes
from assay.types import CorpusInfo, GoldSet, Run


class CorpusTexts:
    """Source texts of a run by gold set and path, from corpora that have not changed since the run.

    A corpus with a revision or version is fixed; its lines must have the recorded lengths. A directory must have the
    recorded digest, because an edit may keep the length of every line.

    Only recorded files are read, so that a path in an engine's results cannot expose another file, such as a secret
    that Git ignores.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._golds = {gold.name: gold for gold in run.suite.golds}
        self._corpora: dict[str, LocalCorpus | None] = {}
        self._files: dict[tuple[str, str], tuple[list[str], tuple[int, ...]] | None] = {}
        self._reasons: dict[str, list[str]] = {}  # why a corpus is unavailable -> gold names
        self._changed: dict[str, set[str]] = {}  # gold name -> changed files

    def __call__(self, gold: str, path: str) -> str | None:
        """Return the text of a file at the time of the run; None if it is missing or changed."""
        lines = self.lines(gold, path)
        return None if lines is None else "\n".join(lines)

    def lines(self, gold: str, path: str) -> Sequence[str] | None:
        """Return the lines of a file at the time of the run; None if the file is missing or changed."""
        sizes = self._run.lines.get(gold, {}).get(path)
        if sizes is None or gold not in self._golds:
            return None
        if gold not in self._corpora:
            self._corpora[gold] = self._find(self._golds[gold])
        corpus = self._corpora[gold]
        if corpus is None:
            return None
        content = self._read(corpus, path)
        if content is None or content[1] != sizes:
            self._changed.setdefault(gold, set()).add(path)
            return None
        return content[0]

    @property
    def notes(self) -> Sequence[str]:
        """Return sentences on the requested files that were unavailable."""
        absent = [f"No source of {', '.join(golds)}: {reason}." for reason, golds in self._reasons.items()]
        changed = []
        for gold, paths in self._changed.items():
            files = min(paths) if len(paths) == 1 else f"{len(paths):,} files such as {min(paths)}"
            changed.append(f"No source of {files} of {gold}: missing, or changed since the run.")
        return [*absent, *changed]

    def _find(self, gold: GoldSet) -> LocalCorpus | None:
        facts = self._run.header.corpora.get(gold.name)
        base = Path(gold.source).parent if gold.source else None
        try:
            corpus = find_local(gold.corpus, base=base, revision=facts.revision if facts else None)
            reason = _difference(gold, facts)
        except (AssayError, OSError) as error:
            reason = error.message if isinstance(error, AssayError) else str(error.strerror)
        if reason is None:
            return corpus
        self._reasons.setdefault(reason, []).append(gold.name)
        return None

    def _read(self, corpus: LocalCorpus, path: str) -> tuple[list[str], tuple[int, ...]] | None:
        key = (corpus.root, path)
        if key not in self._files:
            try:
                text = corpus.text(path)
            except (AssayError, OSError, ValueError):
                self._files[key] = None
            else:
                lines = text.split("\n")
                self._files[key] = (lines, line_sizes(lines) if text.isascii() else line_bytes(text))
        return self._files[key]


def _difference(gold: GoldSet, facts: CorpusInfo | None) -> str | None:
    """Return why a directory may differ from the corpus of the run; None if it does not, or if a revision fixes it."""
    if gold.corpus.kind != "path":
        return None
    if facts is None or not facts.digest:
        return "the run records no corpus digest"
    if not changed_since(facts, reopen(gold, None).corpus.digest):
        return None
    return "the corpus changed since the run" if is_corpus_here(gold) else "its gold set was not found"

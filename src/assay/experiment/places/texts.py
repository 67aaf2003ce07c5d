"""The source of a run's files, where it is still here and still what the run saw. Nothing is fetched for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.corpus.opening import KeptCorpus, find_kept
from assay.errors import AssayError
from assay.experiment.places.place import is_home, reopen
from assay.syntax.text import line_bytes, sizes_of
from assay.types import CorpusFacts, Gold, Run


class CorpusTexts:
    """Texts of files by gold name and path: those of corpora that are what they were.

    A revision or a version fixes what a corpus holds, and every line must be as long as in the records. A folder is
    fixed by nothing, and an edit may keep the length of every line: it must have the digest that the run recorded.

    Only files that the records know are read, so no result of an engine can name another one into a page: what git
    ignores is no part of a corpus, and may be secret.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._golds = {gold.name: gold for gold in run.suite.golds}
        self._corpora: dict[str, KeptCorpus | None] = {}
        self._files: dict[tuple[str, str], tuple[list[str], tuple[int, ...]] | None] = {}
        self._reasons: dict[str, list[str]] = {}  # why a corpus is not here -> gold names
        self._changed: dict[str, set[str]] = {}  # gold name -> files that are others now

    def __call__(self, gold: str, path: str) -> str | None:
        """Give the text of a file as the run saw it; None where it is not here or is another one now."""
        lines = self.lines(gold, path)
        return None if lines is None else "\n".join(lines)

    def lines(self, gold: str, path: str) -> Sequence[str] | None:
        r"""Give the text of a file, split at `\n`."""
        sizes = self._run.lines.get(gold, {}).get(path)
        corpus = self._corpus(gold) if sizes is not None else None
        if corpus is None:
            return None
        found = self._read(corpus, path)
        if found is None or found[1] != sizes:
            self._changed.setdefault(gold, set()).add(path)
            return None
        return found[0]

    @property
    def notes(self) -> Sequence[str]:
        """Say what was asked for and could not be given."""
        absent = [f"No source of {', '.join(golds)}: {reason}." for reason, golds in self._reasons.items()]
        changed = [
            f"No source of {_files(paths)} of {gold}: not here, or no longer as in the run."
            for gold, paths in self._changed.items()
        ]
        return [*absent, *changed]

    def _corpus(self, gold: str) -> KeptCorpus | None:
        """Find the corpus of a gold set once."""
        if gold not in self._corpora:
            self._corpora[gold] = self._find(self._golds[gold]) if gold in self._golds else None
        return self._corpora[gold]

    def _find(self, gold: Gold) -> KeptCorpus | None:
        """Find a corpus; why it is not here is remembered."""
        facts = self._run.header.corpora.get(gold.name)
        base = Path(gold.source).parent if gold.source else None
        try:
            found = find_kept(gold.corpus, base=base, revision=facts.revision if facts else None)
            reason = _doubt(gold, facts)
        except (AssayError, OSError) as error:
            reason = error.message if isinstance(error, AssayError) else str(error.strerror)
        if reason is None:
            return found
        self._reasons.setdefault(reason, []).append(gold.name)
        return None

    def _read(self, corpus: KeptCorpus, path: str) -> tuple[list[str], tuple[int, ...]] | None:
        """Read the lines of a file once, with their bytes; gold sets on one corpus share them."""
        key = (corpus.root, path)
        if key not in self._files:
            try:
                text = corpus.text(path)
            except (AssayError, OSError, ValueError):
                self._files[key] = None
            else:
                lines = text.split("\n")
                self._files[key] = (lines, sizes_of(lines) if text.isascii() else line_bytes(text))
        return self._files[key]


def _doubt(gold: Gold, facts: CorpusFacts | None) -> str | None:
    """Say why the folder of a corpus may not be what the run saw; None where it is, or where its revision fixes it."""
    if gold.corpus.kind != "path":
        return None
    if facts is None or not facts.digest:
        return "the records do not say which files the corpus had"
    if reopen(gold, None).corpus.digest == facts.digest:
        return None
    return "the corpus changed since the run" if is_home(gold) else "its gold set is not here"


def _files(paths: set[str]) -> str:
    """Count files, and name one."""
    first = min(paths)
    return first if len(paths) == 1 else f"{len(paths):,} files such as {first}"


def corpus_texts(run: Run) -> CorpusTexts:
    """Reopen the corpora of a run for their source."""
    return CorpusTexts(run)

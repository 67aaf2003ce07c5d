"""The engine on the bench: sessions on copies of the corpus, every question bounded, every answer kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from assay.audit.config import AuditConfig
from assay.audit.rankings import Place, Reading
from assay.audit.records import Finding, Question, Severity, Share
from assay.audit.subject import Subject
from assay.engines.base import Session, Wanted
from assay.engines.normalise import Normaliser
from assay.engines.runner import Answer, ask, ask_filtered, close_session, open_session, update_session
from assay.experiment.places.workplace import workplace
from assay.store.scratch import scratch
from assay.types import Corpus


class Reader:
    """Answers on one corpus, as the checks compare them."""

    def __init__(self, subject: Subject, corpus: Corpus) -> None:
        self._subject = subject
        self._path = Normaliser(corpus, also=(subject.corpus.root,)).path

    def __call__(self, answer: Answer) -> Reading:
        """Read one answer; our own files are left out, as in a run."""
        named = [(hit, self._path(hit.path) if isinstance(hit.path, str) else str(hit.path)) for hit in answer.hits]
        kept = [(hit, path) for hit, path in named if not self._subject.ours(path)]
        places = tuple(Place(path, hit.start, hit.end) for hit, path in kept)
        return Reading(answer.status, tuple(hit for hit, _ in kept), places, answer.error or "")


class Asker:
    """One open session."""

    def __init__(self, session: Session, subject: Subject, corpus: Corpus, config: AuditConfig) -> None:
        self._session = session
        self._config = config
        self._subject = subject
        self.corpus = corpus
        self._read = Reader(subject, corpus)

    def ask(self, query: str, k: int) -> Reading:
        """Ask one query."""
        return self._read(ask(self._session, query, k, self._config.timeout))

    def ask_filtered(self, query: str, k: int, wanted: Wanted) -> Reading | None:
        """Ask for a part of the corpus; None when the engine has no such filter."""
        answer = ask_filtered(self._session, query, k, wanted, self._config.timeout)
        return None if answer is None else self._read(answer)

    def update(self, corpus: Corpus) -> Reading | None:
        """Let the engine take in changed files; None when it cannot."""
        answer = update_session(self._session, corpus, self._config.index_timeout)
        self.corpus, self._read = corpus, Reader(self._subject, corpus)
        return None if answer is None else self._read(answer)


class Bench:
    """Where an engine is audited. Sessions and copies of the corpus live in a folder that is removed at the end."""

    def __init__(self, subject: Subject, config: AuditConfig) -> None:
        self.subject = subject
        self.config = config
        self._stack = ExitStack()
        self._folder = self._stack.enter_context(scratch("assay-audit-")).resolve()
        self._copies = 0
        self._main: Asker | None = None
        self._kept: dict[tuple[str, int], Reading] = {}
        self._steady: dict[tuple[str, int], bool] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()

    @property
    def questions(self) -> tuple[Question, ...]:
        """The ordinary queries."""
        return self.subject.questions

    @property
    def texts(self) -> tuple[str, ...]:
        """Their texts."""
        return tuple(question.text for question in self.questions)

    @property
    def main(self) -> Asker:
        """The session that most checks share, opened when it is first needed."""
        if self._main is None:
            self._main = self._stack.enter_context(self.session())
        return self._main

    def answer(self, query: str, k: int) -> Reading:
        """Give the first answer of the main session to a query at a depth."""
        if (query, k) not in self._kept:
            self._kept[query, k] = self.main.ask(query, k)
        return self._kept[query, k]

    def is_steady(self, query: str, k: int) -> bool:
        """Tell whether the main session answers a query at a depth as it did first; asked only where it matters."""
        if (query, k) not in self._steady:
            first, times = self.answer(query, k).outcome, self.config.repeats
            self._steady[query, k] = all(self.main.ask(query, k).outcome == first for _ in range(times))
        return self._steady[query, k]

    @property
    def is_remote(self) -> bool:
        """Whether a server is asked that somebody else started, on files that Assay does not give it."""
        engine = self.subject.engine
        return not engine.private and bool(engine.config.get("url"))

    def scratch(self) -> Path:
        """Give a new empty folder."""
        self._copies += 1
        folder = self._folder / str(self._copies)
        folder.mkdir()
        return folder

    def ground(self, corpus: Corpus | None = None, *, own: bool = False) -> Corpus:
        """Give the corpus, or another one, to open the engine on: a copy when it is private or `own` says so."""
        return self._stack.enter_context(workplace(self.subject.engine, corpus or self.subject.corpus, own=own))

    @contextmanager
    def session(self, corpus: Corpus | None = None) -> Iterator[Asker]:
        """Open the engine; raises EngineError or EnvironmentFailure when it does not open."""
        ground = corpus or self.ground()
        opened = open_session(self.subject.engine, ground, self.config.index_timeout)
        try:
            yield Asker(opened.session, self.subject, ground, self.config)
        finally:
            close_session(opened.session)

    def finding(
        self,
        check: str,
        law: str,
        severity: Severity,
        sentence: str,
        *,
        share: Share | None = None,
        example: Iterable[str] = (),
        commands: Iterable[str] = (),
    ) -> Finding:
        """Make a finding; the command that makes the whole check again always comes last."""
        again = self.subject.wording.audit(check, self.config)
        return Finding(check, law, severity, sentence, share, tuple(example), (*commands, again))

    def ask_command(self, query: str, k: int, wanted: Wanted | None = None, environment: str = "") -> str:
        """Write how to ask one query by hand."""
        return self.subject.wording.ask(query, k, wanted, environment)

"""Measuring engines on behalf of an agent: one run at a time, and nothing is executed that the user did not name.

A call may name Assay's own engines, and those of the configuration that the server was started with. A gold set lies in
a served folder, and so does its corpus; only the configuration may name others.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from assay.agent.roots import Inside, Roots
from assay.errors import AssayError, ConfigError, meant
from assay.files import write_atomic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assay.experiment import Progress
    from assay.experiment.spec import Spec
    from assay.report.results import Results
    from assay.types import Gold, Suite

#: Engines that execute nothing but Assay itself.
OWN: Final = ("builtin", "keywords")
_FOLDER = "assay-runs"
_GIT_IGNORE = "# Runs of an agent: name a folder as `out` to keep one.\n*\n"


@dataclass(frozen=True, slots=True)
class BenchmarksConfig:
    """How the end of a run is waited for."""

    seconds: float = 5.0  # at the end of the server: its programs are killed, the rest is cleaning up


CONFIG: Final = BenchmarksConfig()


class Stopped(AssayError):
    """A run was taken back."""


class Watch:
    """The eyes on one run: what it did last, and whether it is still wanted."""

    def __init__(self) -> None:
        self.last: Progress | None = None
        self._unwanted = threading.Event()

    def __call__(self, progress: Progress) -> None:
        """Take note, and end the run at this step when nobody wants it any more."""
        if self._unwanted.is_set():
            raise Stopped("the run was stopped", hint="nothing was written; start it again when you want it")
        self.last = progress

    def stop(self) -> None:
        """Want it no more."""
        self._unwanted.set()


@dataclass(frozen=True, slots=True)
class Order:
    """What a call wants measured."""

    gold: str | None
    engines: tuple[str, ...]
    k: int | None
    out: str | None


@dataclass(frozen=True, slots=True)
class Done:
    """A run that was made, and where it lies."""

    folder: Path
    results: Results


class Benchmarks:
    """Runs benchmarks, one at a time."""

    def __init__(self, roots: Roots, spec: Spec | None = None) -> None:
        """Take the configuration as it is now: what a call writes into the file later is never executed."""
        self._roots = roots
        self._spec = spec
        self._busy = threading.Lock()
        self._watch: Watch | None = None

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines that a call may name."""
        return tuple(dict.fromkeys((*OWN, *(self._spec.engines if self._spec else ()))))

    @property
    def gold(self) -> tuple[str, ...]:
        """The gold sets of the configuration."""
        return self._spec.gold if self._spec else ()

    def carry_out(self, order: Order, watch: Watch) -> Done:
        """Run, write the records and the reports."""
        from assay.experiment import check_folder
        from assay.experiment.running.experiments import run_spec
        from assay.report import publish

        with self._alone(watch):
            spec = self._specified(order)
            suite = self._suite(spec, trusted=order.gold is None)
            folder = check_folder(Path(spec.out))
            made = run_spec(spec, suite, progress=watch)
            if order.out is None:
                _keep_from_git(folder.parent)
            return Done(folder, publish(made, spec.claim(), folder).results)

    def stop(self) -> None:
        """End the run that is under way, in the middle of a question too, and wait until its engines are gone."""
        if self._watch is not None:
            from assay.processes import kill_all

            self._watch.stop()
            kill_all()
        if self._busy.acquire(timeout=CONFIG.seconds):
            self._busy.release()

    @contextmanager
    def _alone(self, watch: Watch) -> Iterator[None]:
        """Let nobody else run: two runs side by side would measure each other."""
        if not self._busy.acquire(blocking=False):
            raise ConfigError("a benchmark is running already", hint="wait until it has ended, or cancel it")
        self._watch = watch
        try:
            yield
        finally:
            self._watch = None
            self._busy.release()

    def _specified(self, order: Order) -> Spec:
        """Put the specification of a run together."""
        from assay.experiment.spec import Spec, override
        from assay.gold.loading import SHIPPED

        root, named = self._roots.folders[0], order.gold
        if order.gold is not None and order.gold not in SHIPPED:
            place = self._roots.existing(order.gold, "gold set")
            root, named = place.root, os.path.relpath(place.real)  # a record shows no more of this machine than it must
        changes: dict[str, object] = {
            "engines": self._chosen(order.engines),
            "k": order.k,
            "out": str(self._out(order.out, root)),
            # A call names whole engines; what the file varies, and claims of it, is for its own runs.
            "variants": {},
            "sweeps": {},
            "family": (),
        }
        if named is not None:  # the corpus and the tags of the configuration belong to its own sets
            changes |= {"gold": (named,), "corpus": "", "tags": (), "cluster": "auto"}
        return override(self._spec or Spec(), **changes, split=())

    def _chosen(self, names: tuple[str, ...]) -> dict[str, Mapping[str, Any] | str]:
        """Take engines by name; a name is all that a call may give."""
        from assay.experiment.spec import untemplated

        known = untemplated(self._spec.engines) if self._spec else {}
        for name in names:
            if name not in self.engines:
                hint = f"{meant(name, self.engines)} there are {', '.join(self.engines)}; others must stand in the"
                raise ConfigError(f"no engine is called {name[:80]!r}", hint=f"{hint.lstrip()} server's --config")
        return {name: known.get(name, name) for name in names or OWN[:1]}

    def _out(self, text: str | None, root: Path) -> Path:
        """Choose a folder for the run; one that holds a run already is not overwritten."""
        place = self._roots.find(text) if text else _free(root)
        if place.real.exists() and any(place.real.iterdir() if place.real.is_dir() else [place.real]):
            raise ConfigError("there is something already", file=place.path, hint="name a new folder as out")
        return place.real

    def _suite(self, spec: Spec, *, trusted: bool) -> Suite:
        """Load the gold sets; what a call named may lead nowhere outside."""
        from assay.experiment.running.loading import load_suite

        if not spec.gold:
            raise ConfigError("no gold set is named", hint="name a gold file or folder, or 'stdlib', as gold")
        suite = load_suite(spec)
        for gold in suite.golds:
            if not trusted and gold.corpus.kind != "stdlib":
                self._check_inside(gold)
        return suite

    def _check_inside(self, gold: Gold) -> None:
        """Refuse a set that a call named and that lies, or whose code lies, outside; nothing is fetched for a call."""
        source = Path(gold.source or "")
        corpus = source.parent / gold.corpus.value
        if not self._roots.holds(source) or gold.corpus.kind != "path" or not self._roots.holds(corpus):
            raise ConfigError(
                f"the code of {gold.name} is {gold.corpus.repository}, which is not served",
                hint=f"a call may use code in {self._roots}; other sets must stand in the server's --config",
            )


def _keep_from_git(folder: Path) -> None:
    """Keep runs that nobody gave a place out of git; a file that is there already is somebody's wish."""
    folder.mkdir(exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        write_atomic(ignore, _GIT_IGNORE)


def _free(root: Path) -> Inside:
    """Name a new folder by the time."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    names = (f"{stamp}-{number}" if number else stamp for number in range(1000))
    return next(Inside(root, f"{_FOLDER}/{name}") for name in names if not (root / _FOLDER / name).exists())

"""The corpus kinds, the lookup of corpora on disk, the cache of fetched trees, and calls of git, pip and npm.

A new kind needs an entry in `KINDS`, its name in `types.CorpusKind`, a case in `opening.locate_corpus`, a case in
`CorpusSpec.repository`, properties in `data/schemas/gold.schema.json`, and, if its content can change without a new
name, a case in `gold/lint/anchors.py`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from assay.corpus.unpack import ArchiveLimits, FetchedTree
from assay.errors import CorpusError, SetupError
from assay.records import dataclass
from assay.store.entries import wrap_disk_errors
from assay.store.kinds import REFS, TREES
from assay.store.store import Store
from assay.types import CorpusKind, CorpusSpec

#: Options of every kind.
OPTIONS: Final = ("root", "include", "exclude")
#: Third-party packages inside the directory of the standard library.
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
#: A complete standard library has more than 400 test modules; distributions leave a handful.
_FEWEST_TESTS: Final = 50


@dataclass(frozen=True, slots=True)
class CorpusKindInfo:
    name: CorpusKind
    word: str  # example for the command line
    keys: tuple[str, ...] = OPTIONS  # options in a gold file

    @property
    def has_revision(self) -> bool:
        return "rev" in self.keys


KINDS: Final[Mapping[str, CorpusKindInfo]] = {
    kind.name: kind
    for kind in (
        CorpusKindInfo("path", "a directory"),
        CorpusKindInfo("stdlib", "stdlib"),
        CorpusKindInfo("git", "git:URL@REV", ("rev", *OPTIONS)),
        CorpusKindInfo("pypi", "pypi:NAME==VERSION"),
        CorpusKindInfo("npm", "npm:NAME@VERSION"),
    )
}


def kind_examples() -> str:
    *most, last = (kind.word for kind in KINDS.values())
    return f"{', '.join(most)} or {last}"


@dataclass(frozen=True, slots=True)
class CorpusRequest:
    spec: CorpusSpec
    base: Path  # where relative paths start
    trees: TreeCache
    limits: ArchiveLimits


@dataclass(frozen=True, slots=True)
class LocatedCorpus:
    root: Path  # of the corpus, without symbolic links
    top: Path  # where ignore rules start: the root or a directory above it
    git: bool = False  # .gitignore and tracked files matter; not in a package, where all files were published
    built_in: bool = True  # tool directories are excluded; not in a commit, where all files are tracked
    barred: frozenset[str] = frozenset()  # excluded names directly below the root
    published: frozenset[str] | None = None  # real paths of fetched files; engines may leave others in a cached tree
    revision: str | None = None
    notes: tuple[str, ...] = ()
    entry: FetchedTree | None = None  # None if the corpus was not fetched


def locate_path(request: CorpusRequest) -> LocatedCorpus:
    named = named_directory(request)
    root = _find_root(request.spec, named)
    return LocatedCorpus(root, find_work_tree(root) or named, git=True)


def locate_stdlib(request: CorpusRequest) -> LocatedCorpus:
    import platform
    import sysconfig

    top = Path(sysconfig.get_path("stdlib")).resolve()
    if not (top / "os.py").is_file():
        raise SetupError(
            f"this interpreter has no standard library in source form at {top}",
            hint="use Python from python.org, uv, pyenv or your distribution",
        )
    complete = sum(1 for _ in (top / "test").glob("test_*.py")) >= _FEWEST_TESTS
    notes = () if complete else ("this interpreter has no complete test/ package; targets in test/ may be missing",)
    root, revision = _find_root(request.spec, top), platform.python_version()
    return LocatedCorpus(root, top, barred=_INSTALLED, revision=revision, notes=notes)


def locate_tree(request: CorpusRequest, entry: FetchedTree, *, built_in: bool) -> LocatedCorpus:
    """Locate a cached tree; .gitignore files do not apply, since all files were published or committed."""
    tree = entry.tree.resolve()
    top = tree / entry.root
    return LocatedCorpus(
        _find_root(request.spec, top),
        top,
        built_in=built_in,
        published=frozenset(f"{tree}/{path}" for path in entry.manifest),
        revision=entry.revision,
        notes=entry.notes,
        entry=entry,
    )


def named_directory(request: CorpusRequest) -> Path:
    if "\0" in request.spec.value:
        raise CorpusError("a directory name cannot contain a NUL byte", hint="check the corpus in the gold file")
    directory = (request.base / Path(request.spec.value).expanduser()).resolve()
    if directory.is_dir():
        return directory
    problem = "is not a directory" if directory.exists() else "does not exist"
    closest = next((parent for parent in directory.parents if parent.is_dir()), directory)
    hint = f"relative paths start at {request.base}; the closest existing directory is {closest}"
    raise CorpusError(f"the corpus {problem}", file=directory, hint=hint)


def find_work_tree(directory: Path) -> Path | None:
    return next((parent for parent in (directory, *directory.parents) if os.path.lexists(parent / ".git")), None)


def _find_root(spec: CorpusSpec, top: Path) -> Path:
    if spec.root is None:
        return top
    parts = [part for part in spec.root.split("/") if part not in ("", ".")]
    if spec.root.startswith("/") or ".." in parts or "\0" in spec.root:
        raise CorpusError(
            f"root {spec.root!r} is outside the corpus", hint="use a directory inside the corpus, such as src"
        )
    root = top.joinpath(*parts).resolve()
    if not root.is_dir() or not root.is_relative_to(top):
        names = sorted(child.name for child in top.iterdir() if child.is_dir()) if top.is_dir() else []
        hint = f"use one of: {', '.join(names)}" if names else "remove `root`; the corpus has no directories"
        raise CorpusError(f"root {spec.root!r} is not a directory of the corpus", file=top, hint=hint)
    return root


@dataclass(frozen=True, slots=True)
class TreeCache:
    """Fetched trees in the store.

    A tree is named by the hash of its archive or commit. A request, such as a branch or a package version, maps to a
    tree and a revision. This mapping is written last, so that an interrupted fetch is never used.
    """

    store: Store
    offline: bool = False  # never fetch

    def obtain(self, request: str, fetch: Callable[[Path], FetchedTree], *, refresh: bool = False) -> FetchedTree:
        """Return the tree of a request; `fetch` it into an empty directory if it is not cached, or with `refresh`.

        If `offline` is set, return the cached tree or raise CorpusError.
        """
        if (not refresh or self.offline) and (cached := self.recall(request)):
            return cached
        if self.offline:
            raise CorpusError("the corpus is not in the cache", hint="run `assay gold lint` to fetch the corpus")
        with self.store.temporary(request) as work:
            assert work is not None
            if not refresh and (cached := self.recall(request)):  # another process was first
                return cached
            with wrap_disk_errors(self.store.root):
                fetched = fetch(work)
                tree = self.store.directory(
                    TREES.name, fetched.content, lambda content: os.rename(fetched.tree, content), check=False
                )
                ref = {name: getattr(fetched, name) for name in ("content", "revision", "root", "notes")}
                self.store.put(REFS.name, request, json.dumps(ref).encode())
            return self._with_manifest(replace(fetched, tree=tree))

    def recall(self, request: str) -> FetchedTree | None:
        data = self.store.get(REFS.name, request)
        if data is None:
            return None
        ref = json.loads(data)
        tree = self.store.find(TREES.name, ref["content"], check=False)  # the walk verifies the files it reads
        return self._with_manifest(FetchedTree(tree, **ref | {"notes": tuple(ref["notes"])})) if tree else None

    def _with_manifest(self, fetched: FetchedTree) -> FetchedTree:
        entries = self.store.contents(TREES.name, fetched.content) or {}
        manifest = {path: entry.rpartition(" ")[2] for path, entry in entries.items() if entry != "folder"}
        return replace(fetched, manifest=manifest)


_INSTALL: Final = {
    "git": "install git (https://git-scm.com/downloads), or use a directory as the corpus",
    "npm": "install Node.js with npm (https://nodejs.org), or use the directory of the unpacked package",
    "pip": "run `python -m ensurepip`, or `uv pip install pip` in a uv environment",
}
#: The longest output lists the files of a commit: 350,000 members with paths of 500 bytes.
#: Most of stderr is retained, since it is searched for known messages.
_STDOUT: Final = 200_000_000
_STDERR: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class CommandOutput:
    code: int
    out: bytes
    err: str

    @property
    def last_error_line(self) -> str:
        """The last line of stderr marked as an error, else the last line, else the exit code."""
        lines = [line.strip() for line in self.err.splitlines() if line.strip() and "complete log of" not in line]
        marked = [line for line in lines if line.lower().startswith(("error", "fatal", "npm err", "npm error"))]
        return (marked or lines or [f"exit code {self.code}"])[-1]


def run_fetch_tool(
    argv: Sequence[str], *, tool: str, seconds: float, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> CommandOutput:
    """Run git, pip or npm; raise SetupError if the tool is missing, times out or prints too much."""
    from assay.processes.running import ProcessLimits, ProgramSpec, run_process

    try:
        limits = ProcessLimits(stdout=_STDOUT, stderr=_STDERR)
        done = run_process(ProgramSpec(tuple(argv), cwd, env), seconds, limits)
    except SetupError as error:
        if isinstance(error.__cause__, FileNotFoundError) and (cwd is None or cwd.is_dir()):
            raise missing_tool(tool) from error
        raise
    if done.end == "timeout":
        raise SetupError(
            f"{tool} did not finish within {seconds:.0f} s", hint="check the network, or use a smaller corpus"
        )
    if done.end == "flood":
        hint = "use a smaller repository or package"
        raise SetupError(f"{tool} printed more than {_STDOUT:,} bytes", hint=hint)
    return CommandOutput(done.code, done.stdout, done.stderr.decode("utf-8", "replace"))


def missing_tool(tool: str) -> SetupError:
    return SetupError(f"{tool} is not installed or not on PATH", hint=_INSTALL[tool])

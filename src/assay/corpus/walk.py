"""Select the files of a tree: a top-down pass, then the symbolic links."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from assay.corpus.contents import RejectedFile, StatCache, WalkConfig
from assay.corpus.git import TrackedFiles, is_linked_worktree, read_repository
from assay.corpus.ignore import Globs, IgnoreFile, read_level, verdict
from assay.corpus.languages import detect
from assay.corpus.sources import ArchiveLimits, WalkRoot, find_top
from assay.corpus.unpack import is_inside
from assay.errors import CorpusError
from assay.types import SkippedFile, SourceFile

#: Names that change the rules of their directory.
_RULES: Final = frozenset({".git", ".gitignore", ".assayignore"})
#: Directories of tools, which hold no source; files in them that git tracks are included.
_TOOL_DIRECTORIES: Final = """
    .bzr .direnv .dart_tool .eggs .git .gradle .hg .hypothesis .ipynb_checkpoints .jj .mypy_cache .next .nox .nuxt
    .parcel-cache .pixi .pytest_cache .ruff_cache .stack-work .svelte-kit .svn .terraform .tox .turbo .venv
    __pycache__ __pypackages__ _darcs bower_components elm-stuff node_modules
"""
ALWAYS: Final = frozenset(_TOOL_DIRECTORIES.split())
#: Build output in some projects and source in others: excluded only where git tracks nothing below.
_OUTPUT_DIRECTORIES: Final = """
    _build bin build coverage deps dist env htmlcov obj out output target tmp vendor venv Pods
"""
AMBIGUOUS: Final = frozenset(_OUTPUT_DIRECTORIES.split())
_CACHE_TAG: Final = b"Signature: 8a477f597d28d172789f06886806bc55"  # https://bford.info/cachedir/


def tool_folder_reason(real: str, names: frozenset[str]) -> str | None:
    """Return the reason to treat a directory as a virtual environment or a cache, or None."""
    if "pyvenv.cfg" in names:
        return "a virtual environment (pyvenv.cfg)"
    if "CACHEDIR.TAG" in names:
        with suppress(OSError), open(os.path.join(real, "CACHEDIR.TAG"), "rb") as stream:
            if stream.read(len(_CACHE_TAG)) == _CACHE_TAG:
                return "a cache (CACHEDIR.TAG)"
    return None


@dataclass(frozen=True, slots=True)
class WalkResult:
    files: tuple[SourceFile, ...]
    hashes: dict[str, str]  # path -> sha256
    skipped: tuple[SkippedFile, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Frame:
    """A directory to visit, and the rules that apply in it."""

    path: str  # relative to the top
    real: str
    git: tuple[IgnoreFile, ...] = ()  # deepest first
    assay: tuple[IgnoreFile, ...] = ()
    repository: TrackedFiles | None = None
    closed: SkippedFile | None = None  # excluded, entered only for files that git tracks or .assayignore re-includes


def walk(
    walk_root: WalkRoot, globs: Globs, walking: WalkConfig, limits: ArchiveLimits, memory: StatCache | None = None
) -> WalkResult:
    """Walk a tree and read the included files; the result does not depend on directory order."""
    memory = StatCache() if memory is None else memory
    memory.begin(walking)
    walker = _Walker(walk_root, globs, walking, limits, memory)
    result = walker.run()
    memory.retain(walker.seen)
    return result


@dataclass(slots=True)
class _Walker:
    walk_root: WalkRoot
    globs: Globs
    walking: WalkConfig
    limits: ArchiveLimits
    memory: StatCache
    files: dict[str, SourceFile] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    skipped: list[SkippedFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)  # files that are not UTF-8
    visited: set[str] = field(default_factory=set)  # real folders
    seen: set[str] = field(default_factory=set)  # real files
    links: list[tuple[str, _Frame]] = field(default_factory=list)  # symbolic links that no rule excludes
    prefix: str = ""  # of the corpus root, as seen from the top

    def run(self) -> WalkResult:
        self._descend(self._start())
        while self.links:
            links, self.links = sorted(self.links, key=lambda link: link[0]), []
            for path, frame in links:
                try:
                    self._follow(path, frame)
                except OSError as error:
                    self._skip(path, "unreadable", error.strerror or str(error))
        if self.foreign:
            names = sorted(self.foreign)
            listed = ", ".join(names[: self.walking.listed])
            more = f" and {len(names) - self.walking.listed} more" if len(names) > self.walking.listed else ""
            self.notes.append(f"not UTF-8, read as Latin-1: {listed}{more}")
        files = tuple(self.files[path] for path in sorted(self.files))
        skipped = sorted(self.skipped, key=lambda one: (one.path, one.reason, one.detail))
        return WalkResult(files, self.hashes, tuple(skipped), tuple(self.notes))

    def _start(self) -> _Frame:
        root, top = str(self.walk_root.root), str(self.walk_root.top)
        inside = os.path.relpath(root, top)
        base = "" if inside == "." else inside
        self.prefix = f"{base}/" if base else ""
        frame = _Frame("", top)
        if self.walk_root.git and find_top(self.walk_root.top) == self.walk_root.top:
            frame = self._add_repository(frame, self.walk_root.root)
        for part in base.split("/") if base else ():
            try:
                names = frozenset(os.listdir(frame.real))
            except OSError as error:
                raise _unreadable_error(self.walk_root.root, error) from error
            frame = self._step(self._with_rules(frame, names), part)
        return frame

    def _step(self, frame: _Frame, part: str) -> _Frame:
        path = f"{frame.path}/{part}" if frame.path else part
        inside = replace(frame, path=path, real=os.path.join(frame.real, part))
        tracked = frame.repository is not None and frame.repository.tracks(path)
        if tracked or not verdict(frame.git, path, True):
            return inside
        self.notes.append(f"git ignores the requested {path}/; ignore rules above it were not applied")
        return replace(inside, git=())

    def _add_repository(self, frame: _Frame, below: Path) -> _Frame:
        found = read_repository(Path(frame.real), below, frame.path, self.limits)
        if isinstance(found, str):
            self.notes.append(
                f"git failed in {frame.real} ({found}); tracked files that match an ignore rule may be missing"
            )
            return frame
        return replace(frame, git=(found.exclude,) if found.exclude else (), repository=found)

    def _descend(self, start: _Frame) -> None:
        stack = [start]
        while stack:
            frame = stack.pop()
            if frame.real in self.visited:
                continue
            if frame.closed is None:
                self.visited.add(frame.real)
            stack.extend(self._visit(frame))

    def _visit(self, frame: _Frame) -> list[_Frame]:
        try:
            with os.scandir(frame.real) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if frame.real == str(self.walk_root.root):
                raise _unreadable_error(self.walk_root.root, error) from error
            self._skip(frame.path + "/", "unreadable", error.strerror or str(error))
            return []
        names = frozenset(entry.name for entry in found)
        if refused := self._find_rejection(frame, names):
            self.skipped.append(refused)
            return []
        frame = self._with_rules(frame, names)
        below: list[_Frame] = []
        for entry in found:
            if entry.name == ".git":
                continue
            try:
                inner = self._decide(frame, entry)
            except OSError as error:
                path = f"{frame.path}/{entry.name}" if frame.path else entry.name
                self._skip(path, "unreadable", error.strerror or str(error))
            else:
                below += [inner] if inner else []
        return below

    def _find_rejection(self, frame: _Frame, names: frozenset[str]) -> SkippedFile | None:
        tracked = frame.repository is not None and frame.repository.tracks(frame.path)
        if frame.real == str(self.walk_root.root) or frame.closed or tracked or not self.walk_root.built_in:
            return None
        if verdict(frame.assay, frame.path, True) is False:
            return None
        if why := tool_folder_reason(frame.real, names):
            return SkippedFile(self._shown(frame.path) + "/", "built-in", why)
        if self.walk_root.git and ".git" in names and is_linked_worktree(frame.real):
            return SkippedFile(self._shown(frame.path) + "/", "worktree", "a second work tree of a git repository")
        return None

    def _with_rules(self, frame: _Frame, names: frozenset[str]) -> _Frame:
        if frame.closed or names.isdisjoint(_RULES):
            return frame
        if self.walk_root.git and ".git" in names and frame.real != str(self.walk_root.top):
            frame = self._add_repository(frame, Path(frame.real))
        levels = {}
        for name in (".gitignore", ".assayignore"):
            applies = name in names and (self.walk_root.git or name == ".assayignore")
            levels[name] = read_level(os.path.join(frame.real, name), frame.path) if applies else None
        git, assay = ((level,) if level else () for level in levels.values())
        return replace(frame, git=(*git, *frame.git), assay=(*assay, *frame.assay))

    def _decide(self, frame: _Frame, entry: os.DirEntry[str]) -> _Frame | None:
        path = f"{frame.path}/{entry.name}" if frame.path else entry.name
        try:
            entry.name.encode("utf-8")
        except UnicodeEncodeError:
            self._skip(path, "name", "the name is not UTF-8")
            return None
        if frame.path == self.prefix.rstrip("/") and entry.name in self.walk_root.barred:
            return None
        folder = entry.is_dir(follow_symlinks=False)
        left_out = self._find_exclusion(frame, path, entry.name, folder)
        if folder:
            return self._enter(frame, path, entry, left_out)
        if left_out is not None:
            self.skipped.append(left_out)
        elif entry.is_symlink():
            self.links.append((path, frame))
        else:
            self._add_file(path, entry.path)
        return None

    def _find_exclusion(self, frame: _Frame, path: str, name: str, folder: bool) -> SkippedFile | None:
        ignored = verdict(frame.assay, path, folder)
        if ignored is not None:
            return self._skipped_file(path, folder, "assayignore") if ignored else None
        tracked = frame.repository is not None and frame.repository.tracks(path)
        if frame.closed is not None and (not tracked or folder or frame.closed.reason == "assayignore"):
            return self._skipped_file(path, folder, frame.closed.reason, frame.closed.detail)
        if tracked and not folder:
            return None
        if folder and self.walk_root.built_in and name in ALWAYS:
            return self._skipped_file(path, folder, "built-in", "a tool directory")
        if verdict(frame.git, path, folder):
            return self._skipped_file(path, folder, "gitignore")
        repository = frame.repository
        if folder and name in AMBIGUOUS and repository is not None and repository.files and not tracked:
            why = "git tracks no file in it; add !NAME/ to .assayignore to include it"
            return self._skipped_file(path, folder, "built-in", why)
        return None

    def _skipped_file(self, path: str, folder: bool, reason: str, detail: str = "") -> SkippedFile:
        return SkippedFile(self._shown(path) + ("/" if folder else ""), reason, detail)

    def _enter(self, frame: _Frame, path: str, entry: os.DirEntry[str], left_out: SkippedFile | None) -> _Frame | None:
        if self.globs.prunes(self._shown(path)):
            return None
        inner = _Frame(path, entry.path, frame.git, frame.assay, frame.repository, left_out)
        if left_out is None:
            forced = verdict(frame.assay, path, True) is False
            return replace(inner, git=()) if forced else inner
        tracked = frame.repository is not None and frame.repository.tracks(path)
        if (tracked and left_out.reason != "assayignore") or any(level.opens(path) for level in frame.assay):
            return inner
        self.skipped.append(left_out)
        return None

    def _add_file(self, path: str, real: str) -> None:
        shown = self._shown(path)
        if not self.globs.selects(shown) or real in self.seen:
            return
        self.seen.add(real)
        if self.walk_root.published is not None and real not in self.walk_root.published:
            self._skip(path, "foreign", "not part of the fetched tree")
            return
        try:
            state = os.stat(real)
            if not stat.S_ISREG(state.st_mode):
                self._skip(path, "special", "a device, pipe or socket")
                return
            found = self.memory.examine(real, state)
        except OSError as error:
            self._skip(path, "unreadable", error.strerror or str(error))
            return
        if isinstance(found, RejectedFile):
            self._skip(path, found.reason, found.detail)
            return
        kind = detect(shown, found.shebang)
        self.files[shown] = SourceFile(shown, found.size, kind.kind, kind.language)
        self.hashes[shown] = found.sha256
        if not found.utf8:
            self.foreign.append(shown)

    def _follow(self, path: str, frame: _Frame) -> None:
        here = os.path.join(frame.real, path.rpartition("/")[2])
        real = os.path.realpath(here)
        names = os.path.relpath(real, self.walk_root.root).split("/")
        barred = ALWAYS if self.walk_root.built_in else frozenset({".git"})
        if not is_inside(real, str(self.walk_root.root)):
            self._skip(path, "outside", f"a link to {os.readlink(here)}, outside the corpus")
        elif not os.path.exists(real):
            self._skip(path, "broken link", f"a link to {os.readlink(here)}, which does not exist")
        elif hidden := next((name for name in names if name in barred), None):
            self._skip(path, "built-in", f"a link into {hidden}/")
        elif os.path.isdir(real):
            self._descend(replace(frame, path=path, real=real, repository=None, closed=None))
        else:
            self._add_file(path, real)

    def _shown(self, path: str) -> str:
        return path[len(self.prefix) :]

    def _skip(self, path: str, reason: str, detail: str) -> None:
        shown = self._shown(path).encode("utf-8", "backslashreplace").decode("utf-8")
        self.skipped.append(SkippedFile(shown, reason, detail))


def _unreadable_error(root: Path, error: OSError) -> CorpusError:
    return CorpusError(
        f"cannot read the corpus directory: {error.strerror or error}",
        file=root,
        hint="check the path",
    )

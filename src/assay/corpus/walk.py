"""Select the files of a tree: walk the directories top-down, then follow the symbolic links."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from typing import Final

from assay.corpus.contents import StatCache, WalkConfig
from assay.corpus.file_types import detect_type
from assay.corpus.git import is_linked_worktree, read_repository
from assay.corpus.ignore import Globs, IgnoreFile, read_level, verdict
from assay.corpus.sources import LocatedCorpus
from assay.corpus.unpack import ArchiveLimits
from assay.errors import CorpusError
from assay.files import is_inside, open_regular
from assay.records import dataclass
from assay.types import SkippedFile, SourceFile

#: Names that change the rules of their directory.
_RULES: Final = frozenset({".git", ".gitignore", ".assayignore"})
#: Directories of tools, which contain no source; files in them that git tracks are included.
_TOOL_DIRECTORIES: Final = """
    .bzr .direnv .dart_tool .eggs .git .gradle .hg .hypothesis .ipynb_checkpoints .jj .mypy_cache .next .nox .nuxt
    .parcel-cache .pixi .pytest_cache .ruff_cache .stack-work .svelte-kit .svn .terraform .tox .turbo .venv
    __pycache__ __pypackages__ _darcs bower_components elm-stuff node_modules
"""
ALWAYS: Final = frozenset(_TOOL_DIRECTORIES.split())
#: Build output, unless git tracks a file in the directory.
BUILD: Final = frozenset({"bin", "build", "dist", "obj", "out", "target"})
#: Output in some projects and source in others: excluded only if git tracks files, but none in the directory.
_OUTPUT_DIRECTORIES: Final = "_build coverage deps env htmlcov output tmp vendor venv Pods"
AMBIGUOUS: Final = frozenset(_OUTPUT_DIRECTORIES.split())
_CACHE_TAG: Final = b"Signature: 8a477f597d28d172789f06886806bc55"  # https://bford.info/cachedir/


@dataclass(frozen=True, slots=True)
class WalkResult:
    files: tuple[SourceFile, ...]
    hashes: dict[str, str]  # path -> sha256
    skipped: tuple[SkippedFile, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Frame:
    path: str  # relative to the top
    real: str
    git: tuple[IgnoreFile, ...] = ()  # deepest first
    assay: tuple[IgnoreFile, ...] = ()
    tracked: frozenset[str] = frozenset()  # files that git tracks, and their directories
    #: Why the directory is excluded; it is still entered for files that git tracks or .assayignore re-includes.
    closed: tuple[str, str] | None = None


def walk(
    located: LocatedCorpus, globs: Globs, walking: WalkConfig, limits: ArchiveLimits, memory: StatCache | None = None
) -> WalkResult:
    """Walk a tree and hash the included files; the result does not depend on the order of directory entries."""
    return _Walker(located, globs, walking, limits, StatCache() if memory is None else memory).run()


@dataclass(slots=True)
class _Walker:
    located: LocatedCorpus
    globs: Globs
    walking: WalkConfig
    limits: ArchiveLimits
    memory: StatCache
    files: dict[str, SourceFile] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    skipped: list[SkippedFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    latin: list[str] = field(default_factory=list)  # files that are not UTF-8
    visited: set[str] = field(default_factory=set)  # real directories
    seen: set[str] = field(default_factory=set)  # real files
    stack: list[_Frame] = field(default_factory=list)
    links: list[tuple[str, _Frame]] = field(default_factory=list)  # symbolic links that no rule excludes
    root: str = ""
    prefix: str = ""  # of the corpus root, relative to the top

    def run(self) -> WalkResult:
        self.memory.begin(self.walking)
        self._descend(self._start())
        while self.links:
            links, self.links = sorted(self.links, key=lambda link: link[0]), []
            for path, frame in links:
                try:
                    self._follow(path, frame)
                except OSError as error:
                    self._skip(path, "unreadable", error.strerror or str(error))
        self.memory.retain(self.seen)
        if self.latin:
            listed = ", ".join(sorted(self.latin)[: self.walking.listed])
            more = len(self.latin) - self.walking.listed
            self.notes.append(f"not UTF-8, read as Latin-1: {listed}" + (f" and {more} more" if more > 0 else ""))
        files = tuple(self.files[path] for path in sorted(self.files))
        skipped = sorted(
            self.skipped, key=lambda skipped_file: (skipped_file.path, skipped_file.reason, skipped_file.detail)
        )
        return WalkResult(files, self.hashes, tuple(skipped), tuple(self.notes))

    def _start(self) -> _Frame:
        self.root, top = str(self.located.root), str(self.located.top)
        frame = _Frame("", top)
        if self.located.git and os.path.lexists(f"{top}/.git"):
            frame = self._add_repository(frame, self.located.root)
        for part in self.located.root.relative_to(top).parts:
            try:
                names = frozenset(os.listdir(frame.real))
            except OSError as error:
                raise self._unreadable_error(error) from error
            frame = self._add_rules(frame, names)
            path = self.prefix + part
            self.prefix = f"{path}/"
            ignored = path not in frame.tracked and verdict(frame.git, path, True)
            if ignored:
                self.notes.append(f"git ignores the requested {path}/; .gitignore files above it were not applied")
            frame = replace(frame, path=path, real=os.path.join(frame.real, part), git=() if ignored else frame.git)
        return frame

    def _add_repository(self, frame: _Frame, below: Path) -> _Frame:
        found = read_repository(Path(frame.real), below, frame.path, self.limits, self.memory)
        if isinstance(found, str):
            self.notes.append(
                f"git failed in {frame.real} ({found}); tracked files that match an ignore rule may be missing"
            )
            return frame
        tracked, exclude = found
        return replace(frame, git=(exclude,) if exclude else (), tracked=tracked)

    def _add_rules(self, frame: _Frame, names: frozenset[str]) -> _Frame:
        if frame.closed or names.isdisjoint(_RULES):
            return frame
        if self.located.git and ".git" in names and frame.real != str(self.located.top):
            frame = self._add_repository(frame, Path(frame.real))
        if self.located.git and ".gitignore" in names and (level := read_level(f"{frame.real}/.gitignore", frame.path)):
            frame = replace(frame, git=(level, *frame.git))
        if ".assayignore" in names and (level := read_level(f"{frame.real}/.assayignore", frame.path)):
            frame = replace(frame, assay=(level, *frame.assay))
        return frame

    def _descend(self, start: _Frame) -> None:
        self.stack.append(start)
        while self.stack:
            frame = self.stack.pop()
            if frame.real not in self.visited:
                if frame.closed is None:
                    self.visited.add(frame.real)
                self._visit(frame)

    def _visit(self, frame: _Frame) -> None:
        try:
            with os.scandir(frame.real) as entries:
                children = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if frame.real == self.root:
                raise self._unreadable_error(error) from error
            self._skip(frame.path + "/", "unreadable", error.strerror or str(error))
            return
        names = frozenset(entry.name for entry in children)
        if rejected := self._find_rejection(frame, names):
            self._skip(frame.path + "/", *rejected)
            return
        frame = self._add_rules(frame, names)
        for entry in children:
            if entry.name == ".git" or (frame.real == self.root and entry.name in self.located.barred):
                continue
            path = f"{frame.path}/{entry.name}" if frame.path else entry.name
            try:
                entry.name.encode("utf-8")
                self._decide(frame, path, entry)
            except UnicodeEncodeError:
                self._skip(path, "name", "the name is not UTF-8")
            except OSError as error:
                self._skip(path, "unreadable", error.strerror or str(error))

    def _find_rejection(self, frame: _Frame, names: frozenset[str]) -> tuple[str, str] | None:
        if frame.real == self.root or frame.closed or frame.path in frame.tracked or not self.located.built_in:
            return None
        if verdict(frame.assay, frame.path, True) is False:
            return None
        if "pyvenv.cfg" in names:
            return "built-in", "a virtual environment (pyvenv.cfg)"
        if "CACHEDIR.TAG" in names:
            with suppress(OSError), open_regular(f"{frame.real}/CACHEDIR.TAG") as stream:
                if stream.read(len(_CACHE_TAG)) == _CACHE_TAG:
                    return "built-in", "a cache (CACHEDIR.TAG)"
        if self.located.git and ".git" in names and is_linked_worktree(frame.real):
            return "worktree", "a second work tree of a git repository"
        return None

    def _decide(self, frame: _Frame, path: str, entry: os.DirEntry[str]) -> None:
        is_directory = entry.is_dir(follow_symlinks=False)
        excluded = self._find_exclusion(frame, path, entry.name, is_directory)
        if is_directory:
            if self.globs.prunes(self._shown(path)):
                return
            inner = _Frame(path, entry.path, frame.git, frame.assay, frame.tracked, excluded)
            if excluded is None:
                forced = verdict(frame.assay, path, True) is False
                self.stack.append(replace(inner, git=()) if forced else inner)
                return
            tracked = path in frame.tracked and excluded[0] != "assayignore"
            if tracked or any(level.opens(path) for level in frame.assay):
                self.stack.append(inner)
                return
        if excluded is not None:
            self._skip(f"{path}/" if is_directory else path, *excluded)
        elif entry.is_symlink():
            self.links.append((path, frame))
        else:
            self._add_file(path, entry.path)

    def _find_exclusion(self, frame: _Frame, path: str, name: str, is_directory: bool) -> tuple[str, str] | None:
        ignored = verdict(frame.assay, path, is_directory)
        if ignored is not None:
            return ("assayignore", "") if ignored else None
        tracked = path in frame.tracked
        if frame.closed is not None and (not tracked or is_directory or frame.closed[0] == "assayignore"):
            return frame.closed
        if tracked and not is_directory:
            return None
        if is_directory and self.located.built_in and name in ALWAYS:
            return "built-in", "a tool directory"
        if verdict(frame.git, path, is_directory):
            return "gitignore", ""
        is_output = (name in BUILD and self.located.git) or (name in AMBIGUOUS and frame.tracked)
        if is_directory and is_output and not tracked:
            return "built-in", "git tracks no file in this directory; add !NAME/ to .assayignore to include it"
        return None

    def _add_file(self, path: str, real: str) -> None:
        shown = self._shown(path)
        if not self.globs.selects(shown) or real in self.seen:
            return
        self.seen.add(real)
        if self.located.published is not None and real not in self.located.published:
            self._skip(path, "foreign", "not part of the fetched tree")
            return
        state = os.stat(real)
        if not stat.S_ISREG(state.st_mode):
            self._skip(path, "special", "a device, pipe or socket")
            return
        contents = self.memory.examine(real, state)
        if contents.reason:
            self._skip(path, contents.reason, contents.detail)
            return
        file_type = detect_type(shown, contents.shebang)
        self.files[shown] = SourceFile(shown, contents.size, file_type.kind, file_type.language)
        self.hashes[shown] = contents.sha256
        if not contents.utf8:
            self.latin.append(shown)

    def _follow(self, path: str, frame: _Frame) -> None:
        here = os.path.join(frame.real, path.rpartition("/")[2])
        real = os.path.realpath(here)
        barred = ALWAYS if self.located.built_in else {".git"}
        if not is_inside(real, self.root):
            self._skip(path, "outside", f"a link to {os.readlink(here)}, outside the corpus")
        elif not os.path.exists(real):
            self._skip(path, "broken link", f"a link to {os.readlink(here)}, which does not exist")
        elif hidden := next((name for name in os.path.relpath(real, self.root).split("/") if name in barred), None):
            self._skip(path, "built-in", f"a link into {hidden}/")
        elif os.path.isdir(real):
            self._descend(replace(frame, path=path, real=real, tracked=frozenset(), closed=None))
        else:
            self._add_file(path, real)

    def _shown(self, path: str) -> str:
        return path[len(self.prefix) :]

    def _skip(self, path: str, reason: str, detail: str) -> None:
        shown = self._shown(path).encode("utf-8", "backslashreplace").decode("utf-8")
        self.skipped.append(SkippedFile(shown, reason, detail))

    def _unreadable_error(self, error: OSError) -> CorpusError:
        message = f"cannot read the corpus directory: {error.strerror or error}"
        return CorpusError(message, file=self.located.root, hint="check the path and its permissions")

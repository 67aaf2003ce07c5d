"""Which files of a tree count? One pass from the top down, then the links."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from assay.corpus.config import ArchiveLimits, WalkConfig
from assay.corpus.contents import ALWAYS, AMBIGUOUS, FileContents, RejectedFile, marked
from assay.corpus.git import GitFailure, TrackedFiles, find_top, is_linked_worktree, read_repository
from assay.corpus.ignore import Globs, IgnoreFile, read_level, verdict
from assay.corpus.languages import detect
from assay.corpus.stat_cache import StatCache
from assay.corpus.writer import is_inside
from assay.errors import CorpusError
from assay.types import SkippedFile, SourceFile

#: What changes the rules of the folder it lies in.
_RULES: Final = frozenset({".git", ".gitignore", ".assayignore"})


@dataclass(frozen=True, slots=True)
class WalkRoot:
    """A tree on disk and which customs hold there."""

    root: Path  # of the corpus; real
    top: Path  # where ignore rules begin: the root or a folder above it; real
    git: bool  # .gitignore counts, and git is asked what it tracks; not so in a package, where all was published
    built_in: bool  # folders of tools are left out; not so in a commit, where all is tracked
    barred: frozenset[str] = frozenset()  # names directly below the root that are not part of it
    published: frozenset[str] | None = None  # real paths; what else lies in a cached tree, an engine left there


@dataclass(frozen=True, slots=True)
class WalkResult:
    """What a walk found."""

    files: tuple[SourceFile, ...]
    hashes: dict[str, str]  # path -> sha256
    skipped: tuple[SkippedFile, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Frame:
    """A folder to look into, and the rules that hold in it."""

    path: str  # relative to the top
    real: str
    git: tuple[IgnoreFile, ...] = ()  # deepest first
    assay: tuple[IgnoreFile, ...] = ()
    repository: TrackedFiles | None = None
    closed: SkippedFile | None = None  # left out, entered only for what git tracks or .assayignore takes back


@dataclass(frozen=True, slots=True)
class _Link:
    """A symbolic link that no rule leaves out."""

    path: str
    frame: _Frame


def walk(
    ground: WalkRoot, globs: Globs, walking: WalkConfig, limits: ArchiveLimits, memory: StatCache | None = None
) -> WalkResult:
    """Walk a tree and read what counts; the order of the file system has no influence."""
    memory = StatCache() if memory is None else memory
    memory.begin(walking)
    walker = _Walker(ground, globs, walking, limits, memory)
    walked = walker.run()
    memory.retain(walker.seen)
    return walked


@dataclass(slots=True)
class _Walker:
    """The state of one walk."""

    ground: WalkRoot
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
    links: list[_Link] = field(default_factory=list)
    prefix: str = ""  # of the corpus root, as seen from the top

    def run(self) -> WalkResult:
        self._descend(self._start())
        while self.links:
            links, self.links = sorted(self.links, key=lambda link: link.path), []
            for link in links:
                self._try_link(link)
        self._note_foreign()
        files = tuple(self.files[path] for path in sorted(self.files))
        skipped = sorted(self.skipped, key=lambda one: (one.path, one.reason, one.detail))
        return WalkResult(files, self.hashes, tuple(skipped), tuple(self.notes))

    def _start(self) -> _Frame:
        root, top = str(self.ground.root), str(self.ground.top)
        inside = os.path.relpath(root, top)
        base = "" if inside == "." else inside
        self.prefix = f"{base}/" if base else ""
        frame = _Frame("", top)
        if self.ground.git and find_top(self.ground.top) == self.ground.top:
            frame = self._adopt(frame, self.ground.root)
        for part in base.split("/") if base else ():
            frame = self._step(self._with_rules(frame, self._names(frame)), part)
        return frame

    def _names(self, frame: _Frame) -> frozenset[str]:
        try:
            return frozenset(os.listdir(frame.real))
        except OSError as error:
            raise vanished(self.ground.root, error) from error

    def _step(self, frame: _Frame, part: str) -> _Frame:
        path = f"{frame.path}/{part}" if frame.path else part
        inside = replace(frame, path=path, real=os.path.join(frame.real, part))
        tracked = frame.repository is not None and frame.repository.tracks(path)
        if tracked or not verdict(frame.git, path, True):
            return inside
        self.notes.append(f"git ignores {path}/, which was asked for: the rules above it were not applied")
        return replace(inside, git=())

    def _adopt(self, frame: _Frame, below: Path) -> _Frame:
        found = read_repository(Path(frame.real), below, frame.path, self.limits)
        if isinstance(found, GitFailure):
            self.notes.append(
                f"git could not be asked about {frame.real} ({found.why}); files that it tracks in spite of an ignore"
                " rule may be missing"
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
            stack.extend(self._look_into(frame))

    def _look_into(self, frame: _Frame) -> list[_Frame]:
        try:
            with os.scandir(frame.real) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if frame.real == str(self.ground.root):
                raise vanished(self.ground.root, error) from error
            self._skip(frame.path + "/", "unreadable", error.strerror or str(error))
            return []
        names = frozenset(entry.name for entry in found)
        if refused := self._refused(frame, names):
            self.skipped.append(refused)
            return []
        frame = self._with_rules(frame, names)
        below = (self._entry(frame, entry) for entry in found if entry.name != ".git")
        return [inner for inner in below if inner is not None]

    def _refused(self, frame: _Frame, names: frozenset[str]) -> SkippedFile | None:
        tracked = frame.repository is not None and frame.repository.tracks(frame.path)
        if frame.real == str(self.ground.root) or frame.closed or tracked or not self.ground.built_in:
            return None
        if verdict(frame.assay, frame.path, True) is False:
            return None
        if why := marked(frame.real, names):
            return SkippedFile(self._shown(frame.path) + "/", "built-in", why)
        if self.ground.git and ".git" in names and is_linked_worktree(frame.real):
            return SkippedFile(self._shown(frame.path) + "/", "worktree", "a second work tree of a git repository")
        return None

    def _with_rules(self, frame: _Frame, names: frozenset[str]) -> _Frame:
        if frame.closed or names.isdisjoint(_RULES):
            return frame
        if self.ground.git and ".git" in names and frame.real != str(self.ground.top):
            frame = self._adopt(frame, Path(frame.real))
        git, assay = frame.git, frame.assay
        if self.ground.git and ".gitignore" in names:
            git = _deeper(git, read_level(os.path.join(frame.real, ".gitignore"), frame.path))
        if ".assayignore" in names:
            assay = _deeper(assay, read_level(os.path.join(frame.real, ".assayignore"), frame.path))
        return replace(frame, git=git, assay=assay)

    def _entry(self, frame: _Frame, entry: os.DirEntry[str]) -> _Frame | None:
        try:
            return self._decided(frame, entry)
        except OSError as error:
            path = f"{frame.path}/{entry.name}" if frame.path else entry.name
            self._skip(path, "unreadable", error.strerror or str(error))
            return None

    def _decided(self, frame: _Frame, entry: os.DirEntry[str]) -> _Frame | None:
        path = f"{frame.path}/{entry.name}" if frame.path else entry.name
        if not _is_text(entry.name):
            self._skip(path, "name", "the name is not UTF-8")
            return None
        if frame.path == self.prefix.rstrip("/") and entry.name in self.ground.barred:
            return None
        folder = entry.is_dir(follow_symlinks=False)
        left_out = self._left_out(frame, path, entry.name, folder)
        if folder:
            return self._inner(frame, path, entry, left_out)
        if left_out is not None:
            self.skipped.append(left_out)
        elif entry.is_symlink():
            self.links.append(_Link(path, frame))
        else:
            self._file(path, entry.path)
        return None

    def _left_out(self, frame: _Frame, path: str, name: str, folder: bool) -> SkippedFile | None:
        asked = verdict(frame.assay, path, folder)
        if asked is not None:
            return self._skipped(path, folder, "assayignore") if asked else None
        tracked = frame.repository is not None and frame.repository.tracks(path)
        if frame.closed is not None and (not tracked or folder or frame.closed.reason == "assayignore"):
            return self._skipped(path, folder, frame.closed.reason, frame.closed.detail)
        if tracked and not folder:
            return None
        if folder and self.ground.built_in and name in ALWAYS:
            return self._skipped(path, folder, "built-in", "a folder of a tool")
        if verdict(frame.git, path, folder):
            return self._skipped(path, folder, "gitignore")
        repository = frame.repository
        if folder and name in AMBIGUOUS and repository is not None and repository.files and not tracked:
            why = "git tracks nothing in it; !NAME/ in .assayignore takes it back"
            return self._skipped(path, folder, "built-in", why)
        return None

    def _skipped(self, path: str, folder: bool, reason: str, detail: str = "") -> SkippedFile:
        return SkippedFile(self._shown(path) + ("/" if folder else ""), reason, detail)

    def _inner(self, frame: _Frame, path: str, entry: os.DirEntry[str], left_out: SkippedFile | None) -> _Frame | None:
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

    def _file(self, path: str, real: str) -> None:
        shown = self._shown(path)
        if not self.globs.selects(shown) or real in self.seen:
            return
        self.seen.add(real)
        if self.ground.published is not None and real not in self.ground.published:
            self._skip(path, "foreign", "not part of what was fetched; another program left it there")
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
        else:
            self._keep(shown, found)

    def _keep(self, shown: str, found: FileContents) -> None:
        kind = detect(shown, found.shebang)
        self.files[shown] = SourceFile(shown, found.size, kind.kind, kind.language)
        self.hashes[shown] = found.sha256
        if not found.utf8:
            self.foreign.append(shown)

    def _try_link(self, link: _Link) -> None:
        try:
            self._follow(link)
        except OSError as error:
            self._skip(link.path, "unreadable", error.strerror or str(error))

    def _follow(self, link: _Link) -> None:
        here = os.path.join(link.frame.real, link.path.rpartition("/")[2])
        real = os.path.realpath(here)
        if not is_inside(real, str(self.ground.root)):
            self._skip(link.path, "outside", f"a link to {os.readlink(here)}, outside the corpus")
        elif not os.path.exists(real):
            self._skip(link.path, "broken link", f"a link to {os.readlink(here)}, which is not there")
        elif hidden := self._tool_folder(real):
            self._skip(link.path, "built-in", f"a link into {hidden}/")
        elif os.path.isdir(real):
            self._descend(replace(link.frame, path=link.path, real=real, repository=None, closed=None))
        else:
            self._file(link.path, real)

    def _tool_folder(self, real: str) -> str | None:
        names = os.path.relpath(real, self.ground.root).split("/")
        barred = ALWAYS if self.ground.built_in else frozenset({".git"})
        return next((name for name in names if name in barred), None)

    def _shown(self, path: str) -> str:
        return path[len(self.prefix) :]

    def _skip(self, path: str, reason: str, detail: str) -> None:
        shown = self._shown(path).encode("utf-8", "backslashreplace").decode("utf-8")
        self.skipped.append(SkippedFile(shown, reason, detail))

    def _note_foreign(self) -> None:
        if not self.foreign:
            return
        names = sorted(self.foreign)
        listed = ", ".join(names[: self.walking.listed])
        more = f" and {len(names) - self.walking.listed} more" if len(names) > self.walking.listed else ""
        self.notes.append(f"not UTF-8, read as Latin-1: {listed}{more}")


def vanished(root: Path, error: OSError) -> CorpusError:
    """Say that a corpus folder is gone or cannot be read."""
    return CorpusError(
        f"the corpus folder cannot be read: {error.strerror or error}",
        file=root,
        hint="check the path and open it again",
    )


def _deeper(levels: tuple[IgnoreFile, ...], level: IgnoreFile | None) -> tuple[IgnoreFile, ...]:
    return levels if level is None else (level, *levels)


def _is_text(name: str) -> bool:
    if name.isascii():
        return True
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True

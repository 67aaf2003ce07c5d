"""State shared by the MCP tools."""

from __future__ import annotations

import os
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
from anyio.lowlevel import RunVar
from mcp.types import CallToolResult, TextContent

from assay.errors import AssayError, ConfigError
from assay.toml import read_toml

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from assay.agent.benchmark_tools import Benchmarks
    from assay.corpus import StatCache
    from assay.search import Index, SearchConfig


@dataclass(frozen=True, slots=True)
class _Kept:
    """An index, and the digest of the files that it was made of."""

    index: Index
    digest: str


class IndexCache:
    """Opens the index of a folder once, and again when a file changed; folders do not wait for each other."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self._stands = {folder: _CacheEntry(folder) for folder in folders}

    def index(self, folder: Path) -> Index:
        """Give the index of a folder as the folder is now."""
        return self._stands[folder].index()


class _CacheEntry:
    """The place of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._kept: _Kept | None = None
        self._memory: StatCache | None = None
        self._config = _settings(folder) if _has_settings(folder) else None

    def index(self) -> Index:
        with self._lock:
            if self._kept is None or self._kept.digest != self._digest():
                self._kept = self._opened()
            return self._kept.index

    def _digest(self) -> str:
        from assay.corpus import StatCache, open_corpus, parse_spec

        self._memory = self._memory or StatCache()
        return open_corpus(parse_spec(str(self._folder)), memory=self._memory).digest

    def _opened(self) -> _Kept:
        from assay.corpus.opening import corpus_digest
        from assay.search import Index

        self._config = self._config or _settings(self._folder)
        index = Index.open(self._folder, self._config)
        files = index.table.files
        return _Kept(index, corpus_digest(dict(zip(files.paths, files.hashes, strict=True))))


def _has_settings(folder: Path) -> bool:
    file = folder / "assay.toml"
    return file.is_file() and "search" in read_toml(file).data


def _settings(folder: Path) -> SearchConfig:
    from assay.search.config import find_config, load_config

    return load_config((), find_config(folder), os.environ)


@dataclass(frozen=True, slots=True)
class RootedPath:
    """A place in a served folder."""

    root: Path
    path: str  # POSIX, relative to the root; nothing for the root itself

    @property
    def real(self) -> Path:
        """Where it is on this machine."""
        return self.root / self.path

    def holds(self, path: str) -> bool:
        """Tell whether a path of the same root is this one or lies below it."""
        return not self.path or path == self.path or path.startswith(f"{self.path}/")


@dataclass(frozen=True, slots=True)
class Roots:
    """The folders that are served, with every link in them followed, each once."""

    folders: tuple[Path, ...]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Roots:
        """Check the folders that are named; this one where none is."""
        folders = [_folder(text) for text in texts] or [_folder(".")]
        return cls(tuple(dict.fromkeys(folders)))

    def find(self, text: str | None) -> RootedPath:
        """Find a path, absolute or relative to a served folder; one that leads outside is refused, by links too."""
        if not text or text == ".":
            return self._only()
        found = list(dict.fromkeys(inside for path in self._meant(text) if (inside := self._inside(path))))
        if not found:
            raise ConfigError("lies outside of what is served", file=_shown(text), hint=f"served: {self}")
        there = [inside for inside in found if inside.real.exists()]
        if len(there) > 1:
            raise ConfigError("is in several served folders", file=_shown(text), hint="write it as an absolute path")
        return (there or found)[0]

    def existing(self, text: str | None, what: str) -> RootedPath:
        """Find a path that must be there; `what` is a word for it."""
        inside = self.find(text)
        if not inside.real.exists():
            hint = f"paths start at {inside.root}, or are absolute"
            raise ConfigError(f"there is no such {what}", file=_shown(text or "."), hint=hint)
        return inside

    def holds(self, path: Path) -> bool:
        """Tell whether a path lies in a served folder, links followed."""
        return self._inside(path) is not None

    def _only(self) -> RootedPath:
        if len(self.folders) > 1:
            raise ConfigError("several folders are served", hint=f"name one of them as path: {self}")
        return RootedPath(self.folders[0], "")

    def _meant(self, text: str) -> list[Path]:
        if "\0" in text:
            return []
        return [Path(text)] if Path(text).is_absolute() else [folder / text for folder in self.folders]

    def _inside(self, path: Path) -> RootedPath | None:
        try:
            real = path.resolve()
        except (OSError, RuntimeError):  # a link that leads to itself
            return None
        holders = [folder for folder in self.folders if real.is_relative_to(folder)]
        if not holders:
            return None
        root = max(holders, key=lambda folder: len(folder.parts))
        name = real.relative_to(root).as_posix()
        return RootedPath(root, "" if name == "." else name)

    def __str__(self) -> str:
        """The folders, for a message."""
        return ", ".join(map(str, self.folders))


def join(folder: str | None, file: str) -> str:
    """Name a file in the folder that was chosen; an absolute path chooses by itself."""
    return f"{folder}/{file}" if folder and not file.startswith("/") else file


def _folder(text: str) -> Path:
    folder = Path(text)
    if not folder.is_dir():
        raise ConfigError("no such folder", file=folder, hint="name folders of code to serve")
    return folder.resolve()


def _shown(text: str) -> str:
    return "".join(char if char.isprintable() else "�" for char in text[:200])


@dataclass(frozen=True, slots=True)
class ServerContext:
    """The folders that are served, their indexes, and what measures engines."""

    roots: Roots
    shelf: IndexCache
    benchmarks: Benchmarks


@dataclass(frozen=True, slots=True)
class ResponseLimits:
    """How much an agent is given to read; it pays for every word."""

    text: int = 40_000  # characters of one answer: 10,000 tokens, below what agents cut off by themselves
    columns: int = 240  # of a line of code: more is a minified file
    error: int = 2_000  # characters of an error
    calls: int = 16  # at once; more wait their turn


LIMITS: Final = ResponseLimits()


@dataclass(frozen=True, slots=True)
class ToolResponse:
    """An answer in its two forms."""

    text: str
    data: DataclassInstance


async def answered(work: Callable[[], ToolResponse]) -> CallToolResult:
    """Do the work of a call in a thread of its own, and turn whatever comes of it into a result."""
    try:
        # A call that is taken back is not waited for: nobody reads its answer.
        answer = await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=_limiter())
    except AssayError as error:
        return error_response(str(error))
    except Exception as error:
        if os.environ.get("ASSAY_DEBUG"):
            traceback.print_exc(file=sys.stderr)
        return error_response(
            f"unexpected {type(error).__name__}\n  → a bug in Assay; other calls still work. ASSAY_DEBUG=1 in the "
            "server's environment writes where it happened to stderr"
        )
    return CallToolResult(content=[_said(answer.text)], structured_content=_plain(asdict(answer.data)))


def error_response(text: str) -> CallToolResult:
    """Tell what went wrong; nothing that is named like a secret in the environment gets out."""
    from assay.redaction import Redactor, environment_secrets

    hidden = Redactor(environment_secrets()).text(text)[: LIMITS.error]
    return CallToolResult(content=[_said(hidden)], is_error=True)


def _said(text: str) -> TextContent:
    return TextContent(type="text", text=text)


def fenced(lines: tuple[str, ...], language: str) -> str:
    """Write lines of code between fences that are longer than any in them."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *lines, fence])


def cut(line: str) -> str:
    """Cut a line of code that is too long to be read."""
    return line if len(line) <= LIMITS.columns else line[: LIMITS.columns - 1] + "…"


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    from assay.report.render.text import plain

    table = plain(value)
    assert isinstance(table, dict)
    return table


_LIMITER: RunVar[anyio.CapacityLimiter] = RunVar("assay_calls")


def _limiter() -> anyio.CapacityLimiter:
    limiter = _LIMITER.get(None)
    if limiter is None:
        limiter = anyio.CapacityLimiter(LIMITS.calls)
        _LIMITER.set(limiter)
    return limiter

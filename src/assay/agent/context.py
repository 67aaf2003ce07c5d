"""State shared by the MCP tools: served directories, their indexes, and tool responses."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

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
class ServerContext:
    """The served directories, their indexes, and the benchmarks."""

    roots: Roots
    indexes: IndexCache
    benchmarks: Benchmarks


@dataclass(frozen=True, slots=True)
class RootedPath:
    """A path in a served directory."""

    root: Path
    path: str  # POSIX, relative to the root; empty for the root itself

    @property
    def real(self) -> Path:
        return self.root / self.path

    def contains(self, path: str) -> bool:
        """Return whether a path of the same root is this one or below it."""
        return not self.path or path == self.path or path.startswith(f"{self.path}/")


@dataclass(frozen=True, slots=True)
class Roots:
    """The served directories, with symbolic links resolved, each once."""

    directories: tuple[Path, ...]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Roots:
        """Check the named directories; default: the current one."""
        directories = []
        for text in [*texts] or ["."]:
            if not Path(text).is_dir():
                raise ConfigError("no such directory", file=text, hint="name directories of code to serve")
            directories.append(Path(text).resolve())
        return cls(tuple(dict.fromkeys(directories)))

    def find(self, text: str | None) -> RootedPath:
        """Find a path, absolute or relative to a served directory; raise if it is outside, also through links."""
        if not text or text == ".":
            if len(self.directories) > 1:
                raise ConfigError("several directories are served", hint=f"name one of them as path: {self}")
            return RootedPath(self.directories[0], "")
        candidates = [] if "\0" in text else [directory / text for directory in self.directories]
        found = list(dict.fromkeys(rooted for path in candidates if (rooted := self._locate(path))))
        if not found:
            raise ConfigError("is outside the served directories", file=_printable(text), hint=f"served: {self}")
        existing = [rooted for rooted in found if rooted.real.exists()]
        if len(existing) > 1:
            hint = "write it as an absolute path"
            raise ConfigError("is in several served directories", file=_printable(text), hint=hint)
        return (existing or found)[0]

    def find_existing(self, text: str | None, kind: str) -> RootedPath:
        """Find a path that must exist; `kind` names it in the error."""
        rooted = self.find(text)
        if not rooted.real.exists():
            hint = f"write it relative to {rooted.root}, or absolute"
            raise ConfigError(f"there is no such {kind}", file=_printable(text or "."), hint=hint)
        return rooted

    def contains(self, path: Path) -> bool:
        """Return whether a path is in a served directory after resolving links."""
        return self._locate(path) is not None

    def _locate(self, path: Path) -> RootedPath | None:
        try:
            real = path.resolve()
        except (OSError, RuntimeError):  # a circular link
            return None
        roots = [directory for directory in self.directories if real.is_relative_to(directory)]
        if not roots:
            return None
        root = max(roots, key=lambda directory: len(directory.parts))
        name = real.relative_to(root).as_posix()
        return RootedPath(root, "" if name == "." else name)

    def __str__(self) -> str:
        return ", ".join(map(str, self.directories))


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "�" for char in text[:200])


class IndexCache:
    """Open indexes of directories, reopened when a file changes; directories do not wait for each other."""

    def __init__(self, directories: Iterable[Path]) -> None:
        self._entries = {directory: _CacheEntry(directory) for directory in directories}

    def index(self, directory: Path) -> Index:
        """Return the current index of a directory."""
        return self._entries[directory].index()


class _CacheEntry:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._index: Index | None = None
        self._digest = ""  # of the indexed files
        self._stats: StatCache | None = None
        file = directory / "assay.toml"
        configured = file.is_file() and "search" in read_toml(file).data
        self._config = self._load_config() if configured else None  # else loaded on first use: it imports the engine

    def index(self) -> Index:
        with self._lock:
            if self._index is None or self._digest != self._current_digest():
                self._index = self._open()
            return self._index

    def _current_digest(self) -> str:
        from assay.corpus import StatCache, open_corpus, parse_spec

        self._stats = self._stats or StatCache()
        return open_corpus(parse_spec(str(self._directory)), memory=self._stats).digest

    def _open(self) -> Index:
        from assay.corpus.opening import corpus_digest
        from assay.search import Index

        self._config = self._config or self._load_config()
        index = Index.open(self._directory, self._config)
        files = index.table.files
        self._digest = corpus_digest(dict(zip(files.paths, files.hashes, strict=True)))
        return index

    def _load_config(self) -> SearchConfig:
        from assay.search.config import find_config, load_search_config

        return load_search_config((), find_config(self._directory), os.environ)


@dataclass(frozen=True, slots=True)
class ResponseLimits:
    """Limits of tool responses, which cost the agent tokens."""

    text: int = 40_000  # characters of a response: 10,000 tokens, below the cutoff of agents
    columns: int = 240  # of a line of code; longer lines are minified
    error: int = 2_000  # characters of an error
    calls: int = 16  # concurrent calls; others wait


LIMITS: Final = ResponseLimits()
_LIMITER: RunVar[anyio.CapacityLimiter] = RunVar("assay_calls")


@dataclass(frozen=True, slots=True)
class ToolResponse:
    """A response as text and as structured content."""

    text: str
    data: DataclassInstance


async def respond(work: Callable[[], ToolResponse]) -> CallToolResult:
    """Run a call in a thread and convert its response or error."""
    limiter = _LIMITER.get(None)
    if limiter is None:
        limiter = anyio.CapacityLimiter(LIMITS.calls)
        _LIMITER.set(limiter)
    try:
        # a cancelled call is abandoned, because its response is not read
        response = await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter)
    except AssayError as error:
        return error_response(str(error))
    except Exception as error:
        if os.environ.get("ASSAY_DEBUG"):
            traceback.print_exc(file=sys.stderr)
        return error_response(
            f"unexpected {type(error).__name__}\n  → a bug in Assay; other calls still work. ASSAY_DEBUG=1 in the "
            "server's environment writes the traceback to stderr"
        )
    from assay.report.render.text import plain

    data = plain(asdict(response.data))
    assert isinstance(data, dict)
    return CallToolResult(content=[TextContent(type="text", text=response.text)], structured_content=data)


def error_response(text: str) -> CallToolResult:
    """Return an error; values of secret environment variables are redacted."""
    from assay.redaction import Redactor, environment_secrets

    redacted = Redactor(environment_secrets()).text(text)[: LIMITS.error]
    return CallToolResult(content=[TextContent(type="text", text=redacted)], is_error=True)

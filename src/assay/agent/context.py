"""Served directories, and the responses of tools."""

from __future__ import annotations

import inspect
import os
import sys
import traceback
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import asdict, dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import anyio.to_thread
from mcp.types import CallToolResult, TextContent

from assay.errors import AssayError, ConfigError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True, slots=True)
class RootedPath:
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


@dataclass(frozen=True, slots=True)
class ResponseLimits:
    """Limits of tool responses, which cost the agent tokens."""

    text: int = 40_000  # characters of a response: 10,000 tokens, below the cutoff of agents
    columns: int = 240  # of a line of code; longer lines are minified
    error: int = 2_000  # characters of an error


LIMITS: Final = ResponseLimits()


@dataclass(frozen=True, slots=True)
class ToolResponse:
    text: str
    data: DataclassInstance


def as_tool(work: Callable[..., ToolResponse], answer: type) -> Callable[..., Awaitable[CallToolResult]]:
    """Return a function with the arguments of `work` that runs it in a thread; `answer` is the type of its data."""

    @wraps(work)
    async def call(**arguments: object) -> CallToolResult:
        return await respond(partial(work, **arguments))

    signature = inspect.signature(work, eval_str=True).replace(return_annotation=Annotated[CallToolResult, answer])
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


async def respond(work: Callable[[], ToolResponse]) -> CallToolResult:
    """Run a call in a thread and convert its response or error."""
    try:
        # a cancelled call is abandoned, because its response is not read
        response = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
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

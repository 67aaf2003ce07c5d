"""Served directories and tool responses of the MCP server."""

from __future__ import annotations

import inspect
import os
import sys
import traceback
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Final

import anyio.to_thread
from mcp.types import CallToolResult, TextContent
from pydantic import Field

from assay.errors import AssayError, ConfigError
from assay.syntax.text import estimate_tokens


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
    directories: tuple[Path, ...]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Roots:
        """Return the named directories, by default the current one; raise ConfigError if one does not exist."""
        directories = []
        for text in [*texts] or ["."]:
            if not Path(text).is_dir():
                raise ConfigError("no such directory", file=text, hint="name directories of code to serve")
            directories.append(Path(text).resolve())
        return cls(tuple(dict.fromkeys(directories)))

    def find(self, text: str | None) -> RootedPath:
        """Resolve a path; raise ConfigError if the path is outside the served directories or ambiguous."""
        if not text or text == ".":
            if len(self.directories) > 1:
                raise ConfigError("several directories are served", hint=f"name a directory as path: {self}")
            return RootedPath(self.directories[0], "")
        candidates = [] if "\0" in text else [directory / text for directory in self.directories]
        found = list(dict.fromkeys(rooted for path in candidates if (rooted := self._locate(path))))
        if not found:
            raise ConfigError("path is outside the served directories", file=_printable(text), hint=f"served: {self}")
        existing = [rooted for rooted in found if rooted.real.exists()]
        if len(existing) > 1:
            hint = "write it as an absolute path"
            raise ConfigError("path exists in several served directories", file=_printable(text), hint=hint)
        return (existing or found)[0]

    def find_existing(self, text: str | None, kind: str) -> RootedPath:
        """Resolve a path that must exist; `kind` is its noun in the error."""
        rooted = self.find(text)
        if not rooted.real.exists():
            hint = f"write it relative to {rooted.root}, or absolute"
            raise ConfigError(f"no such {kind}", file=_printable(text or "."), hint=hint)
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


#: A token budget. Agents warn at 10,000 tokens; a search with ten results of eight lines takes about 1,000.
MaxTokens = Annotated[int, Field(description="most tokens of the response, about 4 characters each", ge=200, le=20_000)]
#: Characters of an error.
_ERROR: Final = 2_000


def as_tool(work: Callable[..., str]) -> Callable[..., Awaitable[CallToolResult]]:
    """Return an asynchronous function with the arguments of `work` that runs `work` in a thread."""

    @wraps(work)
    async def call(**arguments: object) -> CallToolResult:
        return await respond(partial(work, **arguments))

    signature = inspect.signature(work, eval_str=True).replace(return_annotation=CallToolResult)
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


async def respond(work: Callable[[], str]) -> CallToolResult:
    """Run a function in a thread and return its text or its error as a response."""
    try:
        # a cancelled call is abandoned, because its response is not read
        text = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
    except AssayError as error:
        return error_response(str(error))
    except Exception as error:
        if os.environ.get("ASSAY_DEBUG"):
            traceback.print_exc(file=sys.stderr)
        return error_response(
            f"unexpected {type(error).__name__}\n  → a bug in Assay; other calls still work. ASSAY_DEBUG=1 in the "
            "server's environment writes the traceback to stderr"
        )
    return CallToolResult(content=[TextContent(type="text", text=text)])


def error_response(text: str) -> CallToolResult:
    """Return an error; values of secret environment variables are redacted."""
    from assay.redaction import Redactor, environment_secrets

    redacted = Redactor(environment_secrets()).text(text)[:_ERROR]
    return CallToolResult(content=[TextContent(type="text", text=redacted)], is_error=True)


def count_tokens(text: str) -> int:
    return estimate_tokens(len(text.encode("utf-8", "replace")))


def fit_lines(text: str, max_tokens: int, advice: str) -> str:
    """Return the first lines of a text within a token budget; a cut text ends with the number of lines left out."""
    lines, used = text.rstrip("\n").split("\n"), 0
    for number, line in enumerate(lines):
        used += count_tokens(f"{line}\n")
        if used > max_tokens:
            cut = f"{len(lines) - number} of {len(lines)} lines left out at max_tokens = {max_tokens}: {advice}"
            return "\n".join([*lines[:number], cut])
    return "\n".join(lines)

"""Read what was asked and opened in a transcript that the user named; only questions and paths are looked at.

Agents write JSON lines (Claude Code, Codex) or one JSON document (chat logs), each in a shape of its own that changes
with its versions. So a value is searched for messages of a user and calls of tools, wherever they lie in it.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assay.errors import InputError
from assay.gold.mining.config import TRACES
from assay.gold.mining.traces import commands
from assay.gold.mining.traces.commands import Deed, Opened, Search
from assay.gold.mining.traces.shell import check_text

_USERS: Final = ("user", "human")
_TEXT_PARTS: Final = ("text", "input_text", "")
_SEARCHING: Final = re.compile(r"grep|search|glob|find|query|lookup", re.IGNORECASE)
_OPENING: Final = re.compile(r"read|open|view|edit|write|replace|cat|patch|file", re.IGNORECASE)
_PATTERN_KEYS: Final = ("pattern", "regex", "query", "q", "search_term", "keywords", "information_request")
_PATH_KEYS: Final = ("file_path", "path", "filePath", "target_file", "filename", "file", "notebook_path", "uri")
_LINE_KEYS: Final = ("offset", "start_line", "line", "startLine", "view_range")
_COMMAND_KEYS: Final = ("command", "cmd", "script")
_PATCHED: Final = re.compile(r"^\*\*\* (?:Update|Delete|Add) File: (.+)$", re.MULTILINE)
_SHELLS: Final = frozenset({"bash", "sh", "zsh", "fish"})


@dataclass(frozen=True, slots=True)
class Said:
    """What the user wrote."""

    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """A thing that happened, and the line of the file it stands in (1 for a single document)."""

    line: int
    what: Said | Deed


@dataclass(frozen=True, slots=True)
class Transcript:
    """What happened in order, and what could not be read."""

    steps: tuple[Step, ...]
    torn: int = 0  # lines that are no JSON
    too_long: int = 0


def read_transcript(path: Path) -> Transcript:
    """Read a transcript of any shape; one that is no JSON is refused."""
    raw = check_text(path, "a transcript")
    whole = _parsed(raw) if len(raw) <= TRACES.line else None
    if isinstance(whole, dict | list):
        return Transcript(tuple(Step(1, what) for what in _walk(whole, 0)))
    steps: list[Step] = []
    torn = too_long = read = 0
    for number, line in enumerate(raw.split(b"\n"), 1):
        if not line.strip():
            continue
        value = _parsed(line) if len(line) <= TRACES.line else None
        too_long += len(line) > TRACES.line
        torn += value is None and len(line) <= TRACES.line
        read += value is not None
        steps += [Step(number, what) for what in _walk(value, 0)]
    if not read:
        hint = "name a JSONL transcript of an agent, or a JSON chat log"
        raise InputError("holds no line of JSON", file=path, hint=hint)
    return Transcript(tuple(steps), torn, too_long)


def _parsed(raw: bytes) -> object:
    """Read a JSON value; None when it is none."""
    try:
        value: object = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return value


def _walk(value: object, depth: int) -> Iterator[Said | Deed]:
    """Yield what happened in a value, in its order."""
    if depth > TRACES.depth:
        return
    if isinstance(value, list):
        for entry in value:
            yield from _walk(entry, depth + 1)
    elif isinstance(value, dict):
        happened = _happened(value)
        if happened is not None:
            yield from happened
            return
        for entry in value.values():
            yield from _walk(entry, depth + 1)


def _happened(value: Mapping[str, object]) -> list[Said | Deed] | None:
    """Read a message of the user or a call of a tool; None when a value is neither."""
    if value.get("isMeta") is True:
        return []
    if value.get("role") in _USERS and "content" in value:
        return [Said(text) for text in _texts(value["content"])]
    if value.get("sender") in _USERS or value.get("type") == "user_message":
        return [Said(text) for text in _texts(value.get("text") or value.get("message"))]
    name = value.get("name") or value.get("tool_name") or value.get("type")
    given = next((value[key] for key in ("input", "arguments", "args", "action", "parameters") if key in value), None)
    if isinstance(name, str) and isinstance(given, str | dict):
        return list(_called(name, given))
    return None


def _texts(content: object) -> Iterator[str]:
    """Yield what the user wrote; results of tools, which some logs keep in the user's name, are none of it."""
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else ():
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict) and part.get("type", "") in _TEXT_PARTS and isinstance(part.get("text"), str):
            yield part["text"]


def _called(name: str, given: str | Mapping[str, object]) -> Iterator[Deed]:
    """Yield what a tool was called for."""
    if isinstance(given, str):
        value = _parsed(given.encode("utf-8", "replace"))
        if not isinstance(value, dict):
            yield from (Opened(path.strip()) for path in _PATCHED.findall(given))
            return
        given = value
    command = next((given[key] for key in _COMMAND_KEYS if key in given), None)
    line = _command_line(command)
    if line is not None:
        yield from (Opened(path.strip()) for path in _PATCHED.findall(line))
        yield from commands.deeds(line)
    elif _SEARCHING.search(name):
        yield from _searched(given)
    elif _OPENING.search(name):
        yield from _opened(given)


def _command_line(command: object) -> str | None:
    """Give the line that a shell was handed: a text, or the words of a call."""
    if isinstance(command, str):
        return command
    if not isinstance(command, list) or not command or not all(isinstance(word, str) for word in command):
        return None
    return command[-1] if Path(command[0]).name in _SHELLS else shlex.join(command)


def _searched(given: Mapping[str, object]) -> Iterator[Search]:
    """Yield what a search was told; only a pattern is a regular expression."""
    for key in _PATTERN_KEYS:
        value = given.get(key)
        if isinstance(value, str) and value.strip():
            found = commands.search(value, words=key not in ("pattern", "regex"))
            yield from [found] if found else []
            return


def _opened(given: Mapping[str, object]) -> Iterator[Opened]:
    """Yield the file that a tool read or wrote, with the line where it began."""
    path = next((given[key] for key in _PATH_KEYS if isinstance(given.get(key), str)), None)
    line = next((n for key in _LINE_KEYS if (n := _first_number(given.get(key)))), None)
    if isinstance(path, str) and path.strip():
        yield Opened(path.removeprefix("file://"), line)


def _first_number(value: object) -> int | None:
    """Give a line number, or the first of a range."""
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        value = value[0]
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None

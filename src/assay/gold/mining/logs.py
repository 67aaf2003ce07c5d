"""Parsers of shell histories and agent transcripts: messages, searches and opened files."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any, Final

from assay.errors import InputError
from assay.files import check_regular
from assay.gold.mining.questions import QueryTextRules, word_set
from assay.syntax.identifiers import STOP_WORDS


class LogRules:
    bytes: int = 64_000_000  # of a file; a million commands are 50 MB, a long session with its results 30 MB
    line: int = 4_000_000  # bytes of a transcript line; the result of a tool is on one line
    command: int = 4_000  # characters; longer commands are pasted scripts
    sniffed: int = 8_192  # bytes that distinguish text from binary
    first_lines: int = 200  # searched for zsh timestamps, which may begin partway through a history
    depth: int = 12  # of nested JSON; transcripts nest to 6
    after: int = 5  # commands after a search in which a file must be opened to contain a target
    steps: int = 12  # the same after a question
    opened: int = 3  # maximum files opened after a query; with more, none contains a target
    matches: int = 3  # maximum definitions that a name may match
    inner: float = 0.7  # share of a class's matching words from which its method is the target
    fitting: float = 0.6  # minimum share of the question's words in its target


@dataclass(frozen=True, slots=True)
class LoggedSearch:
    text: str
    form: str  # keyword, or human for a question
    raw: str = field(default="", compare=False)  # as typed, checked for private data


@dataclass(frozen=True, slots=True)
class OpenedFile:
    path: str  # as written
    line: int | None = None


#: A line number (1 in a single JSON document) and a user message, a search or an opened file.
TranscriptStep = tuple[int, str | LoggedSearch | OpenedFile]

#: zsh escapes some bytes: it writes 0x83, then the byte XOR 32.
_META: Final = re.compile(rb"\x83(.)", re.DOTALL)
_ZSH: Final = re.compile(rb"^: \d+:\d+;")
_FISH: Final = re.compile(rb"^- cmd: ")
_STAMP: Final = re.compile(rb"^#\d{9,}\s*$")


def read_shell(path: Path) -> tuple[list[tuple[int, str]], int]:
    """Read a bash, zsh or fish history; return commands with line numbers, and the count of those that are too long."""
    lines = _read_text(path, "a shell history").split(b"\n")
    first = next((line for line in lines if line.strip() and not _STAMP.match(line)), b"")
    every = list(_fish_commands(lines) if _FISH.match(first) else _shell_commands(lines))
    commands = [(line, text) for line, text in every if len(text) <= LogRules.command]
    return commands, len(every) - len(commands)


def _fish_commands(lines: Sequence[bytes]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines, 1):
        if _FISH.match(line):
            text = _FISH.sub(b"", line).decode("utf-8", "replace")
            yield number, re.sub(r"\\(n|\\)", lambda m: "\n" if m[1] == "n" else "\\", text)


def _shell_commands(lines: Sequence[bytes]) -> Iterator[tuple[int, str]]:
    zsh = any(_ZSH.match(line) for line in lines[: LogRules.first_lines])
    start, parts = 0, list[bytes]()
    for number, raw in enumerate(lines, 1):
        start = start if parts else number
        line = raw if parts else _ZSH.sub(b"", raw)
        if zsh and line.endswith(b"\\"):
            parts.append(line[:-1])
            continue
        command = b"\n".join([*parts, line])
        parts = []
        if command.strip() and not _STAMP.match(command):
            plain = _META.sub(lambda m: bytes([m[1][0] ^ 32]), command) if zsh else command
            yield start, plain.decode("utf-8", "replace")


def _read_text(path: Path, subject: str) -> bytes:
    check_regular(path)
    try:
        size = path.stat().st_size
        if size > LogRules.bytes:
            message = f"expected {subject} of at most {LogRules.bytes:,} bytes, got {size:,}"
            hint = f"shorten the file: tail -c {LogRules.bytes} {path.name} > recent"
            raise InputError(message, file=path, hint=hint)
        raw = path.read_bytes()
    except OSError as error:
        hint = "check the path and its permissions"
        raise InputError(f"cannot read the file: {error.strerror or error}", file=path, hint=hint) from error
    if b"\0" in raw[: LogRules.sniffed]:
        hint = "use the text file that the shell or agent writes"
        raise InputError(f"expected {subject}, got a binary file", file=path, hint=hint)
    return raw


_USERS: Final = ("user", "human")
_TEXT_PARTS: Final = ("text", "input_text", "")
_SEARCHING: Final = re.compile(r"grep|search|glob|find|query|lookup", re.IGNORECASE)
_OPENING: Final = re.compile(r"read|open|view|edit|write|replace|cat|patch|file", re.IGNORECASE)
_PATTERN_KEYS: Final = ("pattern", "regex", "query", "q", "search_term", "keywords", "information_request")
_PATH_KEYS: Final = ("file_path", "path", "filePath", "target_file", "filename", "file", "notebook_path", "uri")
_LINE_KEYS: Final = ("offset", "start_line", "line", "startLine", "view_range")
_ARGUMENT_KEYS: Final = ("input", "arguments", "args", "action", "parameters")
_COMMAND_KEYS: Final = ("command", "cmd", "script")
_PATCHED: Final = re.compile(r"^\*\*\* (?:Update|Delete|Add) File: (.+)$", re.MULTILINE)
_SHELLS: Final = frozenset({"bash", "sh", "zsh", "fish"})


def read_transcript(path: Path) -> tuple[list[TranscriptStep], int, int]:
    """Read a transcript: a JSON document, or JSON lines of any shape.

    Return its steps, the count of lines that are not JSON, and the count of lines that are too long.
    """
    raw = _read_text(path, "a transcript")
    whole = _parse_json(raw) if len(raw) <= LogRules.line else None
    if isinstance(whole, dict | list):
        return [(1, step) for step in _walk(whole, 0)], 0, 0
    steps: list[TranscriptStep] = []
    malformed = too_long = read = 0
    for number, line in enumerate(raw.split(b"\n"), 1):
        if not line.strip():
            continue
        if len(line) > LogRules.line:
            too_long += 1
        elif (value := _parse_json(line)) is None:
            malformed += 1
        else:
            read += 1
            steps += [(number, step) for step in _walk(value, 0)]
    if not read:
        hint = "use a JSON Lines transcript of an agent, or a JSON chat log"
        raise InputError(f"the file has no JSON line of at most {LogRules.line:,} bytes", file=path, hint=hint)
    return steps, malformed, too_long


def _parse_json(raw: bytes) -> object:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _walk(value: object, depth: int) -> Iterator[str | LoggedSearch | OpenedFile]:
    if depth > LogRules.depth:
        return
    if isinstance(value, dict):
        name = value.get("name") or value.get("tool_name") or value.get("type")
        arguments = next((value[key] for key in _ARGUMENT_KEYS if key in value), None)
        if value.get("isMeta") is True:
            return
        if value.get("role") in _USERS and "content" in value:
            yield from _texts(value["content"])
        elif value.get("sender") in _USERS or value.get("type") == "user_message":
            yield from _texts(value.get("text") or value.get("message"))
        elif isinstance(name, str) and isinstance(arguments, str | dict):
            yield from _tool_call(name, arguments)
        else:
            yield from _walk(list(value.values()), depth)
    elif isinstance(value, list):
        for entry in value:
            yield from _walk(entry, depth + 1)


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else ():
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict) and part.get("type", "") in _TEXT_PARTS and isinstance(part.get("text"), str):
            yield part["text"]


def _tool_call(name: str, arguments: str | Mapping[str, object]) -> Iterator[LoggedSearch | OpenedFile]:
    if isinstance(arguments, str):
        value = _parse_json(arguments.encode("utf-8", "replace"))
        if not isinstance(value, dict):
            yield from (OpenedFile(path.strip()) for path in _PATCHED.findall(arguments))
            return
        arguments = value
    command = next((arguments[key] for key in _COMMAND_KEYS if key in arguments), None)
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        command = command[-1] if Path(command[0]).name in _SHELLS else shlex.join(command)
    if isinstance(command, str):
        yield from (OpenedFile(path.strip()) for path in _PATCHED.findall(command))
        yield from parse_command(command)
    elif _SEARCHING.search(name):
        for key in _PATTERN_KEYS:
            pattern = arguments.get(key)
            if isinstance(pattern, str) and pattern.strip():
                yield from parse_pattern(pattern, words=key not in ("pattern", "regex"))
                return
    elif _OPENING.search(name):
        path = next((arguments[key] for key in _PATH_KEYS if isinstance(arguments.get(key), str)), None)
        lines = [value[0] if isinstance(value, list) and value else value for value in map(arguments.get, _LINE_KEYS)]
        line = next((n for n in lines if isinstance(n, int) and not isinstance(n, bool) and n > 0), None)
        if isinstance(path, str) and path.strip():
            yield OpenedFile(path.removeprefix("file://"), line)


_COMMANDS: Final = tomllib.loads(
    resources.files("assay.data").joinpath("mining", "commands.toml").read_text(encoding="utf-8")
)
_TOOLS: Final[Mapping[str, Mapping[str, Any]]] = {
    name: fields for fields in _COMMANDS["search"] for name in fields["names"].split()
}
_READERS: Final = word_set(_COMMANDS["readers"])
_PREFIXES: Final = word_set("sudo time command nohup env exec builtin xargs noglob nice doas \\")
_ASSIGNED: Final = re.compile(r"^[A-Za-z_]\w*=")
_LINE_AT_END: Final = re.compile(r"^(.+?):(\d+)(?::\d+)?$")
#: `vim +12`, `sed -n 10,20p`
_SHOWN_LINE: Final = re.compile(r"^(?:\+(\d+)|(\d+)(?:,\d+)?p)$")
_SEPARATORS: Final = frozenset(";|&()<>")
#: Syntax of regular expressions: classes, groups, escapes, quantifiers, anchors.
_SYNTAX: Final = re.compile(
    r"\[\^?\]?[^\]]*\]|\\[bBdDwWsSAZzKQE<>]|\\[pP]\{\w+\}|\(\?[a-zA-Z:=!<-]*|\{\d*,?\d*\}|[.^$*+?]"
)
_WORD: Final = re.compile(r"[^\W_][\w-]*\w|[^\W_]")
#: Keywords of definitions: `grep 'def foo'` searches for foo.
_DEFINING: Final = word_set("def class func function fn struct enum trait impl interface type const let var")
#: Markers of open work, which are not queries.
_MARKS: Final = word_set("todo todos fixme fixmes xxx hack hacks wip nocommit")


def parse_command(command: str) -> Iterator[LoggedSearch | OpenedFile]:
    """Yield the searches and opened files of a command, in order; nothing if it is too long or unparsable."""
    if len(command) > LogRules.command or not command.strip():
        return
    lexer = shlex.shlex(command, posix=True, punctuation_chars=";|&()<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:  # an unclosed quote: a truncated line, or not a command
        return
    for separator, group in groupby(words, lambda word: bool(word) and _SEPARATORS.issuperset(word)):
        name, arguments = ("", []) if separator else _split_name(list(group))
        if name in _TOOLS:
            pattern = _pattern(_TOOLS[name], arguments)
            yield from parse_pattern(pattern, words=_TOOLS[name].get("words", False)) if pattern else ()
        elif name in _READERS or name == "sed":
            line: int | None = None
            for word in arguments:
                at, shown = _LINE_AT_END.match(word), _SHOWN_LINE.match(word)
                if shown:
                    line = int(shown[1] or shown[2])
                elif not word.startswith(("-", "+", "$")):
                    yield OpenedFile(at[1], int(at[2])) if at else OpenedFile(word, line)


def parse_pattern(pattern: str, *, words: bool = False) -> Iterator[LoggedSearch]:
    """Yield the words of a search pattern as a query; nothing if they are too long or none is meaningful."""
    if words:
        tokens = pattern.split()
    else:
        tokens = _WORD.findall(_SYNTAX.sub(" ", pattern).replace("|", " ").replace("\\", " "))
        if len(tokens) > 1 and tokens[0] in _DEFINING:
            tokens = tokens[1:]
    unique = list(dict.fromkeys(tokens))
    meaningful = [word for word in unique if word.lower() not in _MARKS]
    long = any(sum(c.isalpha() for c in word) >= QueryTextRules.shortest_word for word in meaningful)
    is_question = len(unique) > QueryTextRules.fewest and not STOP_WORDS.isdisjoint(word.lower() for word in unique)
    text = " ".join(unique)
    if long and len(text) <= QueryTextRules.longest:
        yield LoggedSearch(text, "human" if is_question else "keyword", pattern)


def _split_name(rest: list[str]) -> tuple[str, list[str]]:
    while rest and (rest[0] in _PREFIXES or _ASSIGNED.match(rest[0])):
        rest = rest[1:]
        while rest and rest[0].startswith("-"):  # options of xargs and the like; a value is mistaken for a tool
            rest = rest[1:]
    if not rest:
        return "", []
    name, rest = PurePosixPath(rest[0]).name, rest[1:]
    if name in ("uvx", "npx", "bunx", "pipx") and rest:
        name, rest = PurePosixPath(rest[0]).name, rest[1:]
    if name == "git":
        while len(rest) > 1 and rest[0] in ("-C", "-c"):
            rest = rest[2:]
        return (f"git-{rest[0]}", rest[1:]) if rest else ("git", [])
    subcommands = _TOOLS.get(name, {}).get("subcommands")
    if subcommands:
        return (name, rest[1:]) if rest and rest[0] in subcommands.split() else ("", [])
    return name, rest


def _pattern(tool: Mapping[str, Any], words: list[str]) -> str | None:
    searching, valued = tool.get("pattern", "").split(), tool.get("valued", "").split()
    pending, given, plain = "", list[str](), list[str]()
    options = True
    for word in words:
        name, equals, value = word.partition("=")
        if pending:
            given += [word] if pending in searching else []
            pending = ""
        elif options and word == "--":
            options = False
        elif not options or not word.startswith("-") or word == "-":
            plain.append(word)
        elif equals and name.startswith("--"):
            given += [value] if name in searching else []
        elif word in searching or word in valued:
            pending = word
        elif word[:2] in searching:  # -Sname, -e'pattern'
            given.append(word[2:])
        elif f"-{word[-1]}" in searching and word[1:].isalpha():
            pending = f"-{word[-1]}"
    if given:
        return " ".join(given)
    return plain[0] if plain and tool.get("positional", True) else None

"""What people and agents left behind: shell histories and transcripts that the user names."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from assay.errors import InputError
from assay.files import check_regular
from assay.gold.mining.config import LOGS, TEXTS
from assay.syntax.identifiers import STOP_WORDS

#: zsh writes some bytes as this one and the byte with its sixth bit turned over.
_META: Final = 0x83
_ZSH: Final = re.compile(rb"^: \d+:\d+;")
_FISH: Final = re.compile(rb"^- cmd: ")
_STAMP: Final = re.compile(rb"^#\d{9,}\s*$")


@dataclass(frozen=True, slots=True)
class Command:
    """A command and the line of the history it stands in."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class ShellHistory:
    """The commands of a file, and how many lines were left out for their length."""

    commands: tuple[Command, ...]
    too_long: int = 0


def read_shell(path: Path) -> ShellHistory:
    """Read a history of any of the three shells."""
    raw = check_text(path, "a shell history")
    lines = raw.split(b"\n")
    first = next((line for line in lines if line.strip() and not _STAMP.match(line)), b"")
    if _FISH.match(first):
        found: Iterable[Command] = _fish(lines)
    else:
        found = _plain(lines, zsh=any(_ZSH.match(line) for line in lines[: LOGS.first_lines]))
    every = list(found)
    kept = tuple(command for command in every if len(command.text) <= LOGS.command)
    return ShellHistory(kept, len(every) - len(kept))


def check_text(path: Path, what: str) -> bytes:
    """Read a file of the user's, refusing what is too large and what is no text."""
    check_regular(path)
    try:
        size = path.stat().st_size
        if size > LOGS.bytes:
            hint = f"cut it first: tail -c {LOGS.bytes} {path.name} > recent"
            raise InputError(f"{size:,} bytes; of {what} at most {LOGS.bytes:,} are read", file=path, hint=hint)
        raw = path.read_bytes()
    except OSError as error:
        hint = "name a file that you can read"
        raise InputError(f"cannot be read: {error.strerror or error}", file=path, hint=hint) from error
    if b"\0" in raw[: LOGS.sniffed]:
        raise InputError(f"is binary, not {what}", file=path, hint="name the text file that your tool writes")
    return raw


def _plain(lines: list[bytes], *, zsh: bool) -> Iterator[Command]:
    start, parts = 0, list[bytes]()
    for number, raw in enumerate(lines, 1):
        start = start if parts else number
        line = raw if parts else _ZSH.sub(b"", raw)
        if zsh and line.endswith(b"\\"):
            parts.append(line[:-1])
            continue
        text = b"\n".join([*parts, line])
        parts = []
        if text.strip() and not _STAMP.match(text):
            yield Command(start, _decoded(_unmeta(text) if zsh else text))


def _fish(lines: list[bytes]) -> Iterator[Command]:
    for number, line in enumerate(lines, 1):
        if _FISH.match(line):
            text = _decoded(line[len(b"- cmd: ") :])
            yield Command(number, re.sub(r"\\(n|\\)", lambda m: "\n" if m[1] == "n" else "\\", text))


def _unmeta(text: bytes) -> bytes:
    if _META not in text:
        return text
    return re.sub(rb"\x83(.)", lambda m: bytes([m[1][0] ^ 32]), text, flags=re.DOTALL)


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Search:
    """Words that somebody searched for, as they can be asked again."""

    text: str
    form: str  # keyword, or human where it is a question
    raw: str = field(default="", compare=False)  # as it was typed: in it something private is still whole


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A file that somebody looked into, as it was written, and the line where one was named."""

    path: str
    line: int | None = None


Deed = Search | OpenedFile


@dataclass(frozen=True, slots=True)
class _Tool:
    """How a tool is told what to search for: options with a value, and those whose value is the pattern."""

    valued: frozenset[str]
    pattern: frozenset[str] = frozenset()
    positional: bool = True  # the first word that is no option is the pattern
    words: bool = False  # the pattern is words, not a regular expression
    only: frozenset[str] = frozenset()  # sub-commands that search


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_GREP: Final = _Tool(
    _words(
        "-f -m -A -B -C -d -D --file --max-count --after-context --before-context --context --include --exclude"
        " --exclude-dir --color --label"
    ),
    _words("-e --regexp"),
)
_RG: Final = _Tool(
    _words(
        "-f -g -t -T -m -A -B -C -M -j -r -E -d --file --glob --iglob --type --type-not --max-count --after-context"
        " --before-context --context --max-columns --threads --replace --encoding --max-depth --sort --sortr --color"
        " --colors --path-separator --pre --type-add --max-filesize --engine -G --file-search-regex --ignore --depth"
        " --workers --ignore-dir"
    ),
    _words("-e --regexp"),
)
_SEMANTIC: Final = _words(
    "-k -n -t -l -m -p --k --top-k --limit --max-results --threshold --lang --language --path --format --mode --model"
    " --count --repo --paths --languages --kinds --per --min-score --topk --top --max-tokens --max-bytes --index"
)
#: Tool -> how it is told. Aliases and paths before the name are taken off first.
_TOOLS: Final[Mapping[str, _Tool]] = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep", "ggrep"), _GREP),
    **dict.fromkeys(("rg", "rga", "ag", "ack", "ugrep", "pt", "sift"), _RG),
    "git grep": _GREP,
    "git log": _Tool(frozenset(), _words("-S -G --grep"), positional=False),
    "find": _Tool(frozenset(), _words("-name -iname -path -ipath -wholename -regex -iregex"), positional=False),
    **dict.fromkeys(("fd", "fdfind"), _Tool(_words("-e -t -E -d -x -X --extension --type --exclude --max-depth"))),
    **dict.fromkeys(("fzf", "sk"), _Tool(frozenset(), _words("-q --query"), positional=False, words=True)),
    **dict.fromkeys(
        ("semble", "octocode", "probe", "assay", "chunkhound", "sia-code", "cs", "seagoat"),
        _Tool(_SEMANTIC, _words("--query"), words=True, only=_words("search query find sem")),
    ),
    **dict.fromkeys(("ck", "colgrep", "gt"), _Tool(_SEMANTIC, _words("--sem --query"), words=True)),
}
_READERS: Final = _words(
    "vim vi nvim view nano emacs emacsclient micro hx helix kak code codium cursor subl mate idea pycharm goland clion"
    " zed less more most cat bat batcat head tail nl open xdg-open gedit kate"
)
_BEFORE: Final = frozenset(
    ["sudo", "time", "command", "nohup", "env", "exec", "builtin", "xargs", "noglob", "nice", "doas", "\\"]
)
_ASSIGNED: Final = re.compile(r"^[A-Za-z_]\w*=")
_LINE_AT_END: Final = re.compile(r"^(.+?):(\d+)(?::\d+)?$")
_SED_LINES: Final = re.compile(r"^(\d+)(?:,\d+)?p$")
_ENDS: Final = frozenset(";|&()<>")
#: Parts of a regular expression that are no words: classes, groups, escapes of classes, quantifiers, anchors.
_CLASS: Final = re.compile(
    r"\[\^?\]?[^\]]*\]|\\[bBdDwWsSAZzKQE<>]|\\[pP]\{\w+\}|\(\?[a-zA-Z:=!<-]*|\{\d*,?\d*\}|[.^$*+?]"
)
_WORD: Final = re.compile(r"[^\W_][\w-]*\w|[^\W_]")
#: What begins a definition in some language; who greps for `def foo` looks for foo.
_DEFINING: Final = _words("def class func function fn struct enum trait impl interface type const let var")

#: What people leave in code for later; who greps for it looks for work, not for a place.
_MARKS: Final = _words("todo todos fixme fixmes xxx hack hacks wip nocommit")


def parse_command(command: str) -> Iterator[Deed]:
    """Yield what a command line searched for and opened, in order; one that cannot be read yields nothing."""
    if len(command) > LOGS.command or not command.strip():
        return
    for words in _simple(command):
        name, rest = _named(words)
        if name in _TOOLS:
            text = _searched(_TOOLS[name], rest)
            found = search(text, words=_TOOLS[name].words) if text else None
            yield from [found] if found else []
        elif name in _READERS or name == "sed":
            yield from _opened(rest)


def search(pattern: str, *, words: bool = False) -> Search | None:
    """Make a query of a pattern, the signs of regular expressions taken out; None when no word is left."""
    plain = pattern if words else _CLASS.sub(" ", pattern).replace("|", " ").replace("\\", " ")
    found = plain.split() if words else _WORD.findall(plain)
    if len(found) > 1 and found[0] in _DEFINING and not words:
        found = found[1:]
    kept = list(dict.fromkeys(found))
    telling = [word for word in kept if word.lower() not in _MARKS]
    if not any(sum(c.isalpha() for c in word) >= TEXTS.shortest_word for word in telling):
        return None
    text = " ".join(kept)
    asks = len(kept) > TEXTS.fewest and not STOP_WORDS.isdisjoint(word.lower() for word in kept)
    return Search(text, "human" if asks else "keyword", pattern) if len(text) <= TEXTS.longest else None


def _simple(command: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars=";|&()<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:  # a quote that is never closed: the line was cut, or is no command
        return
    current: list[str] = []
    for word in words:
        if word and _ENDS.issuperset(word):
            yield current
            current = []
        else:
            current.append(word)
    yield current


def _named(words: Sequence[str]) -> tuple[str, list[str]]:
    rest = list(words)
    while rest and (rest[0] in _BEFORE or _ASSIGNED.match(rest[0])):
        rest = rest[1:]
        while rest and rest[0].startswith("-"):  # options of xargs and its like; a value of one is taken for a tool
            rest = rest[1:]
    if not rest:
        return "", []
    name, rest = PurePosixPath(rest[0]).name, rest[1:]
    if name in ("uvx", "npx", "bunx", "pipx") and rest:
        name, rest = PurePosixPath(rest[0]).name, rest[1:]
    if name == "git":
        while len(rest) > 1 and rest[0] in ("-C", "-c"):
            rest = rest[2:]
        return (f"git {rest[0]}", rest[1:]) if rest else ("git", [])
    tool = _TOOLS.get(name)
    if tool and tool.only:
        return (name, rest[1:]) if rest and rest[0] in tool.only else ("", [])
    return name, rest


def _searched(tool: _Tool, words: Sequence[str]) -> str | None:
    pending, given, plain = "", list[str](), list[str]()
    options = True
    for word in words:
        if pending:
            given += [word] if pending in tool.pattern else []
            pending = ""
        elif options and word == "--":
            options = False
        elif options and word.startswith("-") and len(word) > 1:
            pending = _option(tool, word, given)
        else:
            plain.append(word)
    if given:
        return " ".join(given)
    return plain[0] if plain and tool.positional else None


def _option(tool: _Tool, word: str, given: list[str]) -> str:
    name, equals, value = word.partition("=")
    if equals and name.startswith("--"):
        given += [value] if name in tool.pattern else []
        return ""
    if word in tool.pattern or word in tool.valued:
        return word
    short = f"-{word[-1]}"
    if word.startswith("--") or len(word) < 3:
        return ""
    if word[:2] in tool.pattern:  # -Sname, -e'pattern'
        given.append(word[2:])
        return ""
    return short if short in tool.pattern and word[1:].isalpha() else ""


def _opened(words: Sequence[str]) -> Iterator[OpenedFile]:
    line: int | None = None
    for word in words:
        sed = _SED_LINES.match(word)
        if re.fullmatch(r"\+\d+", word) or sed:
            line = int(sed[1] if sed else word[1:])
        elif not word.startswith(("-", "+", "$")):
            at = _LINE_AT_END.match(word)
            yield OpenedFile(at[1], int(at[2])) if at else OpenedFile(word, line)


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
class UserMessage:
    """What the user wrote."""

    text: str


@dataclass(frozen=True, slots=True)
class TranscriptStep:
    """A thing that happened, and the line of the file it stands in (1 for a single document)."""

    line: int
    what: UserMessage | Deed


@dataclass(frozen=True, slots=True)
class Transcript:
    """What happened in order, and what could not be read."""

    steps: tuple[TranscriptStep, ...]
    torn: int = 0  # lines that are no JSON
    too_long: int = 0


def read_transcript(path: Path) -> Transcript:
    """Read a transcript of any shape; one that is no JSON is refused."""
    raw = check_text(path, "a transcript")
    whole = _parsed(raw) if len(raw) <= LOGS.line else None
    if isinstance(whole, dict | list):
        return Transcript(tuple(TranscriptStep(1, what) for what in _walk(whole, 0)))
    steps: list[TranscriptStep] = []
    torn = too_long = read = 0
    for number, line in enumerate(raw.split(b"\n"), 1):
        if not line.strip():
            continue
        value = _parsed(line) if len(line) <= LOGS.line else None
        too_long += len(line) > LOGS.line
        torn += value is None and len(line) <= LOGS.line
        read += value is not None
        steps += [TranscriptStep(number, what) for what in _walk(value, 0)]
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


def _walk(value: object, depth: int) -> Iterator[UserMessage | Deed]:
    if depth > LOGS.depth:
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


def _happened(value: Mapping[str, object]) -> list[UserMessage | Deed] | None:
    """Read a message of the user or a call of a tool; None when a value is neither."""
    if value.get("isMeta") is True:
        return []
    if value.get("role") in _USERS and "content" in value:
        return [UserMessage(text) for text in _texts(value["content"])]
    if value.get("sender") in _USERS or value.get("type") == "user_message":
        return [UserMessage(text) for text in _texts(value.get("text") or value.get("message"))]
    name = value.get("name") or value.get("tool_name") or value.get("type")
    given = next((value[key] for key in ("input", "arguments", "args", "action", "parameters") if key in value), None)
    if isinstance(name, str) and isinstance(given, str | dict):
        return list(_called(name, given))
    return None


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else ():
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict) and part.get("type", "") in _TEXT_PARTS and isinstance(part.get("text"), str):
            yield part["text"]


def _called(name: str, given: str | Mapping[str, object]) -> Iterator[Deed]:
    if isinstance(given, str):
        value = _parsed(given.encode("utf-8", "replace"))
        if not isinstance(value, dict):
            yield from (OpenedFile(path.strip()) for path in _PATCHED.findall(given))
            return
        given = value
    command = next((given[key] for key in _COMMAND_KEYS if key in given), None)
    line = _command_line(command)
    if line is not None:
        yield from (OpenedFile(path.strip()) for path in _PATCHED.findall(line))
        yield from parse_command(line)
    elif _SEARCHING.search(name):
        yield from _searched_transcripts(given)
    elif _OPENING.search(name):
        yield from _opened_transcripts(given)


def _command_line(command: object) -> str | None:
    if isinstance(command, str):
        return command
    if not isinstance(command, list) or not command or not all(isinstance(word, str) for word in command):
        return None
    return command[-1] if Path(command[0]).name in _SHELLS else shlex.join(command)


def _searched_transcripts(given: Mapping[str, object]) -> Iterator[Search]:
    for key in _PATTERN_KEYS:
        value = given.get(key)
        if isinstance(value, str) and value.strip():
            found = search(value, words=key not in ("pattern", "regex"))
            yield from [found] if found else []
            return


def _opened_transcripts(given: Mapping[str, object]) -> Iterator[OpenedFile]:
    path = next((given[key] for key in _PATH_KEYS if isinstance(given.get(key), str)), None)
    line = next((n for key in _LINE_KEYS if (n := _first_number(given.get(key)))), None)
    if isinstance(path, str) and path.strip():
        yield OpenedFile(path.removeprefix("file://"), line)


def _first_number(value: object) -> int | None:
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        value = value[0]
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None

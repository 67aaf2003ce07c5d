"""What a command of a shell was for: to search for something, or to look into a file."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from assay.gold.mining.config import TEXTS, TRACES
from assay.syntax.identifiers import STOP_WORDS


@dataclass(frozen=True, slots=True)
class Search:
    """Words that somebody searched for, as they can be asked again."""

    text: str
    form: str  # keyword, or human where it is a question
    raw: str = field(default="", compare=False)  # as it was typed: in it something private is still whole


@dataclass(frozen=True, slots=True)
class Opened:
    """A file that somebody looked into, as it was written, and the line where one was named."""

    path: str
    line: int | None = None


Deed = Search | Opened


@dataclass(frozen=True, slots=True)
class _Tool:
    """How a tool is told what to search for: options with a value, and those whose value is the pattern."""

    valued: frozenset[str]
    pattern: frozenset[str] = frozenset()
    positional: bool = True  # the first word that is no option is the pattern
    words: bool = False  # the pattern is words, not a regular expression
    only: frozenset[str] = frozenset()  # sub-commands that search


def _words(text: str) -> frozenset[str]:
    """Read words that are written with blanks between."""
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


def deeds(command: str) -> Iterator[Deed]:
    """Yield what a command line searched for and opened, in order; one that cannot be read yields nothing."""
    if len(command) > TRACES.command or not command.strip():
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
    """Take a command line apart into simple commands."""
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
    """Give the name of the tool, with its sub-command for git, and what follows."""
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
    """Find the pattern among the words after the name of a tool."""
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
    """Read an option: give its name when the next word is its value; a value in the same word is taken at once."""
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


def _opened(words: Sequence[str]) -> Iterator[Opened]:
    """Yield the files that a reader or an editor was given."""
    line: int | None = None
    for word in words:
        sed = _SED_LINES.match(word)
        if re.fullmatch(r"\+\d+", word) or sed:
            line = int(sed[1] if sed else word[1:])
        elif not word.startswith(("-", "+", "$")):
            at = _LINE_AT_END.match(word)
            yield Opened(at[1], int(at[2])) if at else Opened(word, line)

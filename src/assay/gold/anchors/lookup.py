"""Look a target up in a corpus: the file is there, the range lies inside it, the symbol is defined in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePosixPath

from assay.corpus.links import ListedPaths
from assay.errors import nearest
from assay.gold.anchors.digests import content_digest, places
from assay.syntax.lines import split_lines
from assay.syntax.symbols import enclosing, is_supported, parse_problem, symbols
from assay.types import Corpus, Skipped, Span, Symbol, Target

#: Names a hint offers: it is one line.
MOST_CANDIDATES = 3


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a target could not be found; `code` is path, range, content, symbol, language or syntax."""

    code: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class _Parsed:
    """What is known of a file: its lines, which definitions, or why none."""

    lines: tuple[str, ...]
    symbols: tuple[Symbol, ...]
    problem: str | None


class Library:
    """A corpus whose files are read and parsed once, when they are first asked for."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._listed = ListedPaths(corpus)
        self._paths = {file.path: file.language for file in corpus.files}
        self._skipped = {skipped.path.rstrip("/"): skipped for skipped in corpus.skipped}
        self._parsed: dict[str, _Parsed] = {}

    def look_up(self, target: Target) -> Target | Missing:
        """Give the target with its lines and unit, or say why it is not there."""
        path = self.listed(target.span.path)
        if path is None:
            return self._no_path(target.span.path)
        if path != target.span.path:
            target = replace(target, span=replace(target.span, path=path), link=target.span.path)
        if target.symbol is not None:
            return self._symbol(target, target.symbol)
        if target.span.start is None or target.span.end is None:
            return target
        return self._range(target, target.span.start, target.span.end)

    def listed(self, path: str) -> str | None:
        """Return the path by which the corpus lists a file, which a symbolic link may name; None if it does not."""
        return self._listed.find(path)

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        """Group the paths by file name; built for the first missing path, of which there may be many."""
        return _grouped(self._paths, lambda path: path.name)

    @cached_property
    def _by_folder(self) -> dict[str, list[str]]:
        """Group the paths by folder."""
        return _grouped(self._paths, lambda path: str(path.parent))

    def _parse(self, path: str) -> _Parsed:
        """Read and parse a file once."""
        if path not in self._parsed:
            from assay.corpus import read_text

            text = read_text(self._corpus, path)
            language = self._paths[path]
            found = symbols(path, text, language)
            problem = None if found else parse_problem(path, text, language)
            self._parsed[path] = _Parsed(split_lines(text), found, problem)
        return self._parsed[path]

    def _range(self, target: Target, start: int, end: int) -> Target | Missing:
        """Check a line range and find the definition it lies in; one with a content hash is looked for in its file."""
        parsed, path = self._parse(target.span.path), target.span.path
        if target.digest is not None and content_digest(parsed.lines[start - 1 : end]) != target.digest:
            found = _only_place(parsed.lines, target.digest, end - start + 1)
            if isinstance(found, str):
                message = f"{target.anchor} does not hold what it held: {found}"
                return Missing("content", message, "move it with `assay gold reanchor`, or anchor it anew")
            start, end = found, found + end - start
        if end > len(parsed.lines):
            message = f"{target.anchor} is past the end: {path} has {len(parsed.lines)} lines"
            return Missing("range", message, "was it anchored at another revision? correct the range")
        unit = enclosing(parsed.symbols, start, end)
        return replace(target, span=Span(path, start, end), unit=Span(path, unit.start, unit.end) if unit else None)

    def _symbol(self, target: Target, symbol: str) -> Target | Missing:
        """Find the lines of a symbol; it is its own unit."""
        path = target.span.path
        if not is_supported(path, self._paths[path]):
            kind = self._paths[path] or "files of its kind"
            message = f"the symbols of {path} cannot be read: there is no grammar for {kind}"
            return Missing("language", message, "anchor it to lines: path:10-42")
        parsed = self._parse(path)
        found = next((s for s in parsed.symbols if s.name == symbol), None)
        if found is None:
            return self._no_symbol(path, symbol, parsed)
        span = Span(path, found.start, found.end)
        return replace(target, span=span, unit=span)

    def _no_symbol(self, path: str, symbol: str, parsed: _Parsed) -> Missing:
        """Say which symbol was probably meant, or that the file does not parse."""
        if parsed.problem:
            message = f"symbol '{symbol}' cannot be found: {path} does not parse, {parsed.problem}"
            return Missing("syntax", message, "anchor it to lines, or use a version that reads this syntax")
        return Missing("symbol", f"symbol '{symbol}' is not in {path}", _symbol_hint(symbol, parsed.symbols))

    def _no_path(self, path: str) -> Missing:
        """Say whether a path was left out, is a folder, or was probably another."""
        left_out = self._left_out(path)
        if left_out is not None:
            why = f"{left_out.reason}: {left_out.detail}" if left_out.detail else left_out.reason
            message = f"{path} is there but was left out of the corpus ({why})"
            return Missing("path", message, "force it in with .assayignore or include, or choose another target")
        if (self._corpus.root / path).is_dir():
            return Missing("path", f"{path} is a folder of the corpus", "name a file in it")
        if (self._corpus.root / path).is_file():
            message = f"{path} is there but not part of the corpus"
            return Missing("path", message, "check the include and exclude globs of the corpus")
        return Missing("path", f"{path} is not in the corpus", self._path_hint(path))

    def _left_out(self, path: str) -> Skipped | None:
        """Find the record of the file, or of a folder above it, that the walk skipped."""
        upwards = (path, *(str(parent) for parent in PurePosixPath(path).parents))
        return next((self._skipped[step] for step in upwards if step in self._skipped), None)

    def _path_hint(self, path: str) -> str:
        """Name the files a missing path may have moved to: a package, the same name elsewhere, a close name."""
        wanted = PurePosixPath(path)
        package = str(wanted.with_suffix("") / f"__init__{wanted.suffix}")
        if package in self._paths:
            return f"did you mean '{package}'?"
        candidates = self._by_name.get(wanted.name) or self._beside(wanted)
        if not candidates:
            return "paths are relative to the corpus root; check the root and the revision"
        return f"did you mean {_either(candidates)}?"

    def _beside(self, wanted: PurePosixPath) -> list[str]:
        """Give the files of the same folder whose names look like the wanted one, closest first."""
        stems = _grouped(self._by_folder.get(str(wanted.parent), ()), lambda path: path.stem)
        return [path for stem in nearest(wanted.stem, stems, MOST_CANDIDATES) for path in stems[stem]]


def _only_place(lines: tuple[str, ...], digest: str, length: int) -> int | str:
    """Find the one place in a file that says what was hashed, or say why there is none."""
    found = list(places(lines, digest, length))
    if len(found) == 1:
        return found[0]
    return "the lines changed" if not found else f"{len(found)} places of the file say the same now"


def _grouped(paths: Iterable[str], key: Callable[[PurePosixPath], str]) -> dict[str, list[str]]:
    """Group paths by a part of them, in path order."""
    groups: dict[str, list[str]] = {}
    for path in sorted(paths):
        groups.setdefault(key(PurePosixPath(path)), []).append(path)
    return groups


def _symbol_hint(symbol: str, known: tuple[Symbol, ...]) -> str:
    """Name the symbols that may have been meant: a close name in the same scope, or the same name in another.

    Whole names are not compared: two methods of one class look alike by their class alone.
    """
    names = [s.name for s in known]
    scope, dot, last = symbol.rpartition(".")
    beside = [own for outer, _, own in (name.rpartition(".") for name in names) if outer == scope]
    elsewhere = [name for name in names if name.rpartition(".")[2] == last]
    candidates = [scope + dot + near for near in nearest(last, beside, MOST_CANDIDATES)]
    candidates = candidates or list(nearest(symbol, elsewhere, MOST_CANDIDATES)) or elsewhere
    if not candidates:
        return "the file defines no symbol of that kind of name; open it and name the definition"
    return f"did you mean {_either(candidates)}?"


def _either(candidates: list[str]) -> str:
    """Join a few candidates: 'a', 'b' or 'c'."""
    *others, last = [f"'{candidate}'" for candidate in candidates[:MOST_CANDIDATES]]
    return f"{', '.join(others)} or {last}" if others else last

"""Parse targets, and resolve them to files, lines and symbols of a corpus."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Literal

from assay.corpus import read_text
from assay.corpus.opening import ListedPaths
from assay.errors import GoldError, closest_match
from assay.gold.build import GoldLocation, is_whole_file
from assay.syntax.symbols import extract_symbols, find_enclosing, find_symbol, is_supported, parse_problem
from assay.syntax.text import split_lines
from assay.types import PRIMARY, Corpus, GoldSet, Query, Span, Symbol, Target

#: Hex digits, 48 bits: the chance of a collision among a million ranges is about 0.2%.
DIGEST_LENGTH = 12


def content_digest(lines: Sequence[str]) -> str:
    """Return a hash of lines, ignoring trailing whitespace, which editors and Git may change."""
    text = "\n".join(line.rstrip() for line in lines)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_LENGTH]


def find_digest(lines: Sequence[str], digest: str, length: int) -> Iterator[int]:
    """Yield the 1-based first line of each range of `length` lines whose hash is `digest`."""
    for start in range(1, len(lines) - length + 2):
        if content_digest(lines[start - 1 : start - 1 + length]) == digest:
            yield start


_SYNTAX = "write a target as path, path:10-42 or path::Scope.symbol"
_RANGE = re.compile(r"(?P<path>.*):(?P<start>[0-9]{1,9})-(?P<end>[0-9]{1,9})(?:#(?P<digest>.*))?", re.DOTALL)
_DIGEST = re.compile(rf"[0-9a-f]{{{DIGEST_LENGTH}}}")
_INVALID_REPEAT = re.compile(r"~(?:0[0-9]*|1)$")


def parse_target(text: str, location: GoldLocation, *, grade: int = PRIMARY) -> Target:
    """Parse a target such as `path`, `path:10-42` or `path::Scope.symbol`; symbols are not resolved to lines."""
    path, colons, symbol = text.partition("::")
    if colons:
        span = Span(check_path(path, location))
        if ":" in symbol:
            hint = f"join scopes with '.': {re.sub(':+', '.', symbol)}"
            raise location.error(f"the symbol of '{text}' contains ':'", hint)
        if not all(symbol.split(".")) or any(character.isspace() for character in symbol):
            raise location.error(f"'{text}' has no valid symbol", _SYNTAX)
        if _INVALID_REPEAT.search(symbol):
            hint = "write ~2 for the second definition of a name"
            raise location.error(f"invalid repeat number in '{text}'", hint)
        return Target(span, grade, location.text(symbol, "the symbol of a target"))
    ranged = _RANGE.fullmatch(text)
    if ranged is None:
        return Target(Span(check_path(text, location)), grade)
    span, digest = ranged_span(ranged["path"], int(ranged["start"]), int(ranged["end"]), location), ranged["digest"]
    if digest is not None and not _DIGEST.fullmatch(digest):
        message = f"invalid content hash in '{text}': expected {DIGEST_LENGTH} hex digits after '#'"
        raise location.error(message, "remove the hash and run `assay gold lint SET --fix`")
    return Target(span, grade, digest=digest)


def ranged_span(path: str, start: int, end: int, location: GoldLocation) -> Span:
    """Return the span of lines `start` to `end` (1-based, inclusive); raise if the lines or the path are invalid."""
    if start < 1:
        raise location.error(f"line range '{path}:{start}-{end}' starts before line 1", "count lines from 1")
    if start > end:
        hint = f"did you mean {path}:{end}-{start}?"
        raise location.error(f"line range '{path}:{start}-{end}' ends before it starts", hint)
    return Span(check_path(path, location), start, end)


def check_path(path: str, location: GoldLocation) -> str:
    """Return `path`; raise unless it is a valid path of a file, relative to the corpus root and separated by `/`."""
    problem = path_problem(path)
    if problem:
        raise location.error(f"'{path}' {problem}", f"{_SYNTAX}; paths are relative to the corpus root and use '/'")
    return location.text(path, "the path of a target")


def path_problem(path: str) -> str | None:
    checks = {
        "is empty": not path,
        "contains a backslash": "\\" in path,
        "is an absolute path": path.startswith("/"),
        "starts or ends with whitespace": path != path.strip(),
        "contains a control character": any(ord(character) < 32 or character == "\x7f" for character in path),
        "names a directory": path.endswith("/"),
        "contains ':'": ":" in path,
        "contains '..'": ".." in path.split("/"),
        "contains an empty or '.' segment": not {"", "."}.isdisjoint(path.split("/")),
    }
    return next((problem for problem, applies in checks.items() if applies), None)


@dataclass(frozen=True, slots=True)
class AnchorProblem:
    """A problem in resolving a gold set; `query` and `anchor` are empty if they do not apply."""

    code: str  # category
    query: str
    anchor: str
    message: str
    file: str | None = None
    line: int | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Resolution:
    """The part of a gold set that resolves, and the problems of the rest."""

    gold: GoldSet
    problems: tuple[AnchorProblem, ...] = ()
    notes: tuple[str, ...] = ()  # about targets found at other lines, and skipped locations judged irrelevant


# Thresholds for the suspicion that a gold set is for another corpus.
_MISSING_SHARE = 0.5  # of the paths; refactorings rarely move that many
_LEAST_MISSING = 3  # one or two missing paths may be typos
#: Problems listed after the first.
_LISTED = 9
_Checks = Mapping[Target, "Target | UnresolvedTarget"]


def resolve(gold: GoldSet, corpus: Corpus, *, missing: Literal["error", "report"] = "error") -> Resolution:
    """Locate the targets and adversaries of a gold set; raise on problems, or return them if `missing="report"`."""
    index = AnchorIndex(corpus)
    checks: _Checks = {target: index.look_up(target) for query in gold.queries for target in all_targets(query)}
    problems = tuple(_problems(gold, checks))
    if problems and missing == "error":
        raise _error(problems)
    queries = [resolved for query in gold.queries if (resolved := _resolve_query(query, checks)) is not None]
    judged = tuple(replace(query, irrelevant=tuple(index.find_irrelevant(query))) for query in queries)
    notes = [
        f"{target.anchor} was found at {resolved.span} by its content hash; `assay gold reanchor` updates the range"
        for target, resolved in checks.items()
        if isinstance(resolved, Target) and target.digest is not None and resolved.span != target.span
    ]
    before, after = (sum(len(query.irrelevant) for query in some) for some in (queries, judged))
    if after < before:
        notes.append(f"skipped {before - after} of {before} locations judged irrelevant in '{gold.name}': not found")
    return Resolution(replace(gold, queries=judged), problems, tuple(notes))


def all_targets(query: Query) -> Iterator[Target]:
    yield from query.targets
    yield from (adversary.target for adversary in query.adversaries)


def _resolve_query(query: Query, checks: _Checks) -> Query | None:
    if not any(isinstance(checks[target], Target) for target in query.primaries):
        return None
    again = {target for target, _ in _find_duplicates(query, checks)}
    targets = tuple(resolved for t in query.targets if t not in again and isinstance(resolved := checks[t], Target))
    adversaries = tuple(
        replace(adversary, target=resolved)
        for adversary in query.adversaries
        if adversary.target not in again and isinstance(resolved := checks[adversary.target], Target)
    )
    return replace(query, targets=targets, adversaries=adversaries)


def _find_duplicates(query: Query, checks: _Checks) -> Iterator[tuple[Target, Target]]:
    resolved = [(target, there) for target in all_targets(query) if isinstance(there := checks[target], Target)]
    if not any(there.link for _, there in resolved):
        return
    relevant = sum(isinstance(checks[target], Target) for target in query.targets)
    for number, (target, there) in enumerate(resolved):
        for position, (other, first) in enumerate(resolved[:number]):
            # a whole file as target excludes adversaries in it, and vice versa
            opposed = number >= relevant > position and (is_whole_file(target) or is_whole_file(other))
            same = replace(there, link=None).anchor == replace(first, link=None).anchor
            if target.span.path != other.span.path and there.span.path == first.span.path and (same or opposed):
                yield target, other
                break


def _problems(gold: GoldSet, checks: _Checks) -> Iterator[AnchorProblem]:
    missing = [t for t, result in checks.items() if isinstance(result, UnresolvedTarget) and result.code == "path"]
    absent = {target.span.path for target in missing}
    paths = {target.span.path for target in checks}
    if len(absent) >= _LEAST_MISSING and len(absent) > _MISSING_SHARE * len(paths):
        message = (
            f"{len(absent)} of the {len(paths)} paths of '{gold.name}' are not in the corpus; "
            "the gold set may be for another corpus"
        )
        hint = f"check the revision and root of {gold.corpus.repository}, or use another corpus"
        first = next(query for query in gold.queries if any(t.span.path in absent for t in all_targets(query)))
        yield AnchorProblem("other-corpus", "", "", message, gold.source, first.line, hint)
    lines = AnchorLines(gold)
    for query in gold.queries:

        def problem(code: str, anchor: str, message: str, hint: str, query: Query = query) -> AnchorProblem:
            line = lines.find(query, anchor) if anchor else query.line
            return AnchorProblem(code, query.id, anchor, message, gold.source, line, hint)

        for target in all_targets(query):
            unresolved = checks[target]
            if isinstance(unresolved, UnresolvedTarget):
                yield problem(unresolved.code, target.anchor, unresolved.message, unresolved.hint)
        for target, other in _find_duplicates(query, checks):
            same = f"{other.anchor} and {target.anchor} are the same file"
            message = f"query '{query.id}' labels the same code twice: {same}"
            yield problem("link", target.anchor, message, "remove one")
        if _resolve_query(query, checks) is None:
            message = f"no primary target of query '{query.id}' resolves"
            yield problem("no-primary", "", message, "correct the targets, or remove the query")


def _error(problems: tuple[AnchorProblem, ...]) -> GoldError:
    first = problems[0]
    others = [problem for problem in problems[1:] if problem.anchor]  # a missing primary is a consequence of the others
    message = first.message
    if others:
        listed = [f"  {problem.file}:{problem.line}: {problem.message}" for problem in others[:_LISTED]]
        rest = [f"  … and {len(others) - _LISTED} more"] if len(others) > _LISTED else []
        count = f"(and {len(others)} more {'problem' if len(others) == 1 else 'problems'})"
        message = "\n".join([f"{first.message} {count}", *listed, *rest])
    return GoldError(message, file=first.file, line=first.line, hint=first.hint)


class AnchorLines:
    def __init__(self, gold: GoldSet) -> None:
        self._source = gold.source
        self._starts = sorted(query.line for query in gold.queries if query.line is not None)

    def find(self, query: Query, anchor: str) -> int | None:
        """Return the line of the gold file that contains the anchor, or else the first line of the query."""
        if query.line is None:
            return None
        end = next((start - 1 for start in self._starts if start > query.line), len(self._lines))
        numbers = range(query.line, min(end, len(self._lines)) + 1)
        return next((number for number in numbers if anchor in self._lines[number - 1]), query.line)

    @cached_property
    def _lines(self) -> list[str]:
        try:
            return Path(self._source).read_text("utf-8").split("\n") if self._source else []
        except (OSError, UnicodeDecodeError):
            return []


#: Suggestions per hint.
_MOST_CANDIDATES = 3


@dataclass(frozen=True, slots=True)
class UnresolvedTarget:
    """The reason why a target does not resolve; `code` is path, range, content, symbol, language or syntax."""

    code: str
    message: str
    hint: str


class AnchorIndex:
    """A resolver of targets that reads and parses each file of a corpus at most once."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._listed = ListedPaths(corpus)
        self._paths = {file.path: file.language for file in corpus.files}
        self._skipped = {skipped.path.rstrip("/"): skipped for skipped in corpus.skipped}
        self._parsed: dict[str, tuple[tuple[str, ...], tuple[Symbol, ...], str | None]] = {}

    def look_up(self, target: Target) -> Target | UnresolvedTarget:
        path = self._listed.find(target.span.path)
        if path is None:
            return self._no_path(target.span.path)
        if path != target.span.path:
            target = replace(target, span=replace(target.span, path=path), link=target.span.path)
        if target.symbol is not None:
            return self._symbol(target, target.symbol)
        if target.span.start is None or target.span.end is None:
            return target
        return self._range(target, target.span.start, target.span.end)

    def find_irrelevant(self, query: Query) -> Iterator[Target]:
        """Yield the locations judged irrelevant that resolve; skip missing paths, whose hints are slow to compute."""
        for target in query.irrelevant:
            if self._listed.find(target.span.path) and isinstance(resolved := self.look_up(target), Target):
                yield resolved

    def _parse(self, path: str) -> tuple[tuple[str, ...], tuple[Symbol, ...], str | None]:
        if path not in self._parsed:
            text, language = read_text(self._corpus, path), self._paths[path]
            defined = extract_symbols(path, text, language)
            problem = None if defined else parse_problem(path, text, language)
            self._parsed[path] = split_lines(text), defined, problem
        return self._parsed[path]

    def _range(self, target: Target, start: int, end: int) -> Target | UnresolvedTarget:
        path = target.span.path
        lines, known, _ = self._parse(path)
        if target.digest is not None and content_digest(lines[start - 1 : end]) != target.digest:
            starts = list(find_digest(lines, target.digest, end - start + 1))
            if len(starts) != 1:
                count = f"{len(starts)} line ranges" if starts else "no line range"
                match = "match" if starts else "matches"
                message = f"the content of {target.anchor} changed: {count} of the file {match} its content hash"
                hint = "run `assay gold reanchor SET --to HEAD`, or correct the range"
                return UnresolvedTarget("content", message, hint)
            start, end = starts[0], starts[0] + end - start
        if end > len(lines):
            count = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
            message = f"{target.anchor} is past the end: {path} has {count}"
            return UnresolvedTarget("range", message, "correct the range, or the revision of the corpus")
        unit = find_enclosing(known, start, end)
        return replace(target, span=Span(path, start, end), unit=Span(path, unit.start, unit.end) if unit else None)

    def _symbol(self, target: Target, symbol: str) -> Target | UnresolvedTarget:
        path = target.span.path
        if not is_supported(path, self._paths[path]):
            kind = self._paths[path] or "this file type"
            message = f"cannot find symbols in {path}: no grammar for {kind}"
            return UnresolvedTarget("language", message, "use a line range: path:10-42")
        lines, known, problem = self._parse(path)
        definition = find_symbol(symbol, known, lines, path)
        if definition is not None:
            span = Span(path, definition.start, definition.end)
            return replace(target, span=span, unit=span)
        if problem:
            message = f"cannot find symbol '{symbol}': {path} does not parse, {problem}"
            return UnresolvedTarget("syntax", message, "use a line range: path:10-42")
        return UnresolvedTarget("symbol", f"symbol '{symbol}' not found in {path}", _symbol_hint(symbol, known))

    def _no_path(self, path: str) -> UnresolvedTarget:
        upwards = (path, *(str(parent) for parent in PurePosixPath(path).parents))
        skipped = next((self._skipped[step] for step in upwards if step in self._skipped), None)
        if skipped is not None:
            why = f"{skipped.reason}: {skipped.detail}" if skipped.detail else skipped.reason
            message = f"{path} exists but is excluded from the corpus ({why})"
            hint = "use another target, or include the file with .assayignore or `include` if a rule excludes it"
        elif (self._corpus.root / path).is_dir():
            message, hint = f"{path} is a directory", "use a file in the directory"
        elif (self._corpus.root / path).is_file():
            message = f"{path} exists but is not part of the corpus"
            hint = "check the include and exclude globs of the corpus"
        else:
            message, hint = f"{path} is not in the corpus", self._path_hint(path)
        return UnresolvedTarget("path", message, hint)

    def _path_hint(self, path: str) -> str:
        wanted = PurePosixPath(path)
        package = str(wanted.with_suffix("") / f"__init__{wanted.suffix}")
        if package in self._paths:
            return f"did you mean '{package}'?"
        directory = path.rpartition("/")[0]
        candidates = sorted(known for known in self._paths if known.rpartition("/")[2] == wanted.name)
        if not candidates:
            stems: dict[str, list[str]] = {}
            for known in sorted(known for known in self._paths if known.rpartition("/")[0] == directory):
                stems.setdefault(PurePosixPath(known).stem, []).append(known)
            candidates = [file for stem in closest_match(wanted.stem, stems, _MOST_CANDIDATES) for file in stems[stem]]
        otherwise = "check the root and the revision of the corpus; paths are relative to the root"
        return _did_you_mean(candidates, otherwise)


def _symbol_hint(symbol: str, known: tuple[Symbol, ...]) -> str:
    """Suggest similar names in the same scope, or else the same name in other scopes.

    Names in the same scope are compared without the scope, since a long common prefix makes all of them similar.
    """
    names = [s.name for s in known]
    scope, dot, last = symbol.rpartition(".")
    siblings = [own for outer, _, own in (name.rpartition(".") for name in names) if outer == scope]
    elsewhere = [name for name in names if name.rpartition(".")[2] == last]
    candidates = [scope + dot + similar for similar in closest_match(last, siblings, _MOST_CANDIDATES)]
    candidates = candidates or list(closest_match(symbol, elsewhere, _MOST_CANDIDATES)) or elsewhere
    return _did_you_mean(candidates, "use the name of a definition in the file")


def _did_you_mean(candidates: list[str], otherwise: str) -> str:
    if not candidates:
        return otherwise
    *others, last = [f"'{candidate}'" for candidate in candidates[:_MOST_CANDIDATES]]
    return f"did you mean {', '.join(others)} or {last}?" if others else f"did you mean {last}?"

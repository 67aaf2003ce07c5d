"""Which files of a repository are read? Decided by name and size; by the hash of the path where there are too many."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assay.corpus.walking.languages import FileType, detect
from assay.syntax.grammars import GRAMMARS
from assay.training.mining.config import FileRules, MiningConfig
from assay.training.mining.drawing import draw_rank
from assay.training.mining.folders import FOLDER_LICENCE, Folders
from assay.training.mining.licences import is_licence
from assay.training.mining.repositories import Entry, Repository, read_files
from assay.training.mining.scope import EVERYBODYS, Scope

#: Languages with a grammar; what the five define is no code.
CODE: Final = frozenset(GRAMMARS) - {"css", "html", "json", "toml", "yaml"}
#: Folders with other people's code.
_VENDORED: Final = re.compile(
    r"(?:^|/)_*(?:vendor(?:ed|s)?|bundled|third[_-]?party|3rd[_-]?party|node_modules|bower_components|deps|externals?|extern|pods"
    r"|carthage|submodules|site-packages|ext[_-]?libs?|godeps|jspm_packages)/",
    re.IGNORECASE,
)
_TEST: Final = re.compile(
    r"(?:^|[/_.-])(?:tests?|specs?|testdata|testing|fixtures?|mocks?|benchmarks?|bench|conftest|e2e)(?:[/_.-]|$)"
    r"|Tests?\.\w+$|Specs?\.\w+$|Tests?/|(?:^|/)__tests__/",
)
_GENERATED_NAME: Final = re.compile(
    r"\.min\.\w+$|_pb2(?:_grpc)?\.pyi?$|\.pb(?:\.gw)?\.\w+$|\.g(?:\.dart|\.cs)?$|\.freezed\.dart$|\.designer\.cs$"
    r"|[._-]generated?\.\w+$|_gen\.go$|(?:^|[/._-])(?:bundle|parser\.tab)\.\w+$|(?:^|/)(?:dist|generated|autogen|gen)/",
    re.IGNORECASE,
)
#: Documentation that says what happened or how to behave, not what the code does.
_IDLE_DOCS: Final = re.compile(
    r"(?:^|/)(?:change(?:log|s)?|history|news|releases?|release[-_ ]?notes?|contribut\w*|code[-_]of[-_]conduct|security"
    r"|authors|maintainers|governance|upgrading|pull_request_template|issue_template|todo|notice|support|funding)\b[^/]*$"
    r"|(?:^|/)(?:changelogs?|releases?|release[-_]notes)/|(?:^|/)\.\w+/",
    re.IGNORECASE,
)
_HEAD: Final = 200  # bytes that hold the first line of a program


@dataclass(frozen=True, slots=True)
class Chosen:
    """A file that is read: where it stands among all of the repository, and what it is."""

    number: int
    entry: Entry
    language: str
    test: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """The code and the documentation that are read, and how many files were left out, by reason."""

    code: tuple[Chosen, ...]
    docs: tuple[Chosen, ...]
    dropped: Counter[str]


def find_scripts(repository: Repository, entries: Sequence[Entry], config: MiningConfig) -> dict[str, FileType]:
    """Tell what the programs are that have no extension, by their first line."""
    plain = [one for one in entries if one.script and "." not in one.path.rpartition("/")[2]]
    fitting = [one for one in plain if _unfit(one, config.files) is None][: config.files.code]
    return {one.path: detect(one.path, data[:_HEAD]) for one, data in read_files(repository, fitting)}


def choose(
    entries: Sequence[Entry],
    scripts: Mapping[str, FileType],
    config: MiningConfig,
    folders: Folders,
    scope: Scope = EVERYBODYS,
) -> Choice:
    """Choose files by name and size; where there are too many, by the hash of their path."""
    dropped: Counter[str] = Counter()
    code: list[Chosen] = []
    docs: list[Chosen] = []
    for number, entry in enumerate(entries):
        kind = scripts.get(entry.path) or detect(entry.path, b"")
        if entry.path in scope.withheld or kind.language is None or not (kind.kind == "docs" or is_code(kind)):
            continue
        reason = _unfit(entry, config.files) or (_unfit_docs(entry.path) if kind.kind == "docs" else None)
        reason = reason or (FOLDER_LICENCE if folders.bars(entry.path) else None)
        if reason is None:
            wanted = docs if kind.kind == "docs" else code
            wanted.append(Chosen(number, entry, kind.language, is_test(entry.path)))
        else:
            dropped[reason] += 1
    kept, kept_docs = _draw_code(code, config), _draw(docs, config.files.docs, config.seed)
    dropped["file over the cap"] += len(code) + len(docs) - len(kept) - len(kept_docs)
    return Choice(tuple(kept), tuple(kept_docs), dropped)


def is_code(kind: FileType) -> bool:
    """Tell whether a file is code that can be parsed."""
    return kind.kind == "code" and kind.language in CODE


def is_test(path: str) -> bool:
    """Tell tests and what serves them by the path."""
    return _TEST.search(path) is not None


def is_foreign(path: str) -> bool:
    """Tell code of others, or of a program, by the path."""
    return _VENDORED.search(path) is not None or _GENERATED_NAME.search(path) is not None


def _unfit(entry: Entry, rules: FileRules) -> str | None:
    """Say why a file is not read, by its name and size."""
    if entry.size > rules.bytes:
        return "large file"
    if _VENDORED.search(entry.path):
        return "vendored file"
    if _GENERATED_NAME.search(entry.path):
        return "generated file"
    return "licence file" if is_licence(entry.path) else None


def _unfit_docs(path: str) -> str | None:
    """Say why documentation is not read."""
    return "idle document" if _IDLE_DOCS.search(path) else None


def _draw_code(files: Sequence[Chosen], config: MiningConfig) -> list[Chosen]:
    """Draw code files, tests up to their share."""
    plain = [file for file in files if not file.test]
    share = config.files.tests
    room = int(config.files.code * (1 - share)) if len(plain) < len(files) else config.files.code
    kept = _draw(plain, room, config.seed)
    tests = _draw([file for file in files if file.test], int(len(kept) * share / (1 - share)), config.seed)
    return sorted([*kept, *tests], key=lambda file: file.number)


def _draw(files: Sequence[Chosen], most: int, seed: int) -> list[Chosen]:
    """Draw files by the hash of their path, given in their order."""
    drawn = sorted(files, key=lambda file: (draw_rank(seed, file.entry.path), file.number))[:most]
    return sorted(drawn, key=lambda file: file.number)

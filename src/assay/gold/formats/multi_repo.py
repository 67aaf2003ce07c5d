"""Corpora of formats that do not name one, and files that ask about several repositories."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.gold.building import GoldLocation, GoldSource, build_gold
from assay.gold.formats.export import safe_ids
from assay.types import CorpusSpec, GoldSet, Query

NO_CORPUS = "a gold set in this format names no corpus"
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_.-]*[A-Za-z0-9_-]")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_SHORT = 12  # digits of a commit in the name of a set: two commits of a repository never share so many
_EXAMPLES = 5  # omitted items that are named; the rest is counted


def require_corpus(source: GoldSource, corpus: CorpusSpec | None) -> CorpusSpec:
    """Return the given corpus, or raise for a format that has no place for one."""
    if corpus is None:
        raise source.at(1).error(NO_CORPUS, corpus_hint(source.path))
    return corpus


def corpus_hint(path: Path, *, several: bool = False) -> str:
    """Return a hint on how to name the corpus that is true of every command: only some have --corpus."""
    stem = path.parent / (path.stem or path.resolve().stem)
    where = "FOLDER" if several else "PATH"
    names = shlex.join([str(path), f"{stem}-native/" if several else f"{stem}.yaml"])
    return (
        f"convert it to native first: assay gold convert {names} --to native --corpus {where}; "
        f"run, gold lint and gold review take --corpus {where} themselves, Python takes corpus=..."
    )


@dataclass(frozen=True, slots=True)
class RepoRevision:
    """A repository, and a commit where the file names one."""

    repository: str
    commit: str = ""

    @property
    def label(self) -> str:
        """Its part of the name of a gold set."""
        return f"{self.repository}-{self.commit[:_SHORT]}" if self.commit else self.repository


@dataclass(frozen=True, slots=True)
class RepoQuery:
    """A query and the code it asks about."""

    code: RepoRevision
    query: Query


@dataclass(frozen=True, slots=True)
class Omitted:
    """Something of a file that is in no gold set: the kind that is counted, and its name."""

    kind: str
    which: str


def left_out(omitted: Sequence[Omitted]) -> dict[str, str]:
    """Return a provenance entry that counts the omitted items by kind and names the first of each."""
    kinds: dict[str, list[str]] = {}
    for one in omitted:
        kinds.setdefault(one.kind, []).append(one.which)
    counts = [
        f"{kind}: {len(names)} ({', '.join(names[:_EXAMPLES])}{', ...' if len(names) > _EXAMPLES else ''})"
        for kind, names in kinds.items()
    ]
    return {"left out": "; ".join(counts)} if counts else {}


def github_code(repository: str, commit: str, place: GoldLocation) -> RepoRevision:
    """Return a GitHub repository and commit after checking both."""
    if not _REPOSITORY.fullmatch(repository):
        raise place.error(f"'{repository}' is not a repository of GitHub", "write it as owner/name")
    if not _COMMIT.fullmatch(commit):
        raise place.error(f"'{commit}' is not a commit", "write the hexadecimal id of a commit")
    return RepoRevision(repository, commit)


def from_github(
    source: GoldSource,
    name: str,
    corpus: CorpusSpec | None,
    entries: Sequence[RepoQuery | Omitted],
    provenance: Mapping[str, str],
) -> list[GoldSet]:
    """Return one gold set per GitHub repository and commit; a given corpus must be the only one asked about."""
    queries = [entry for entry in entries if isinstance(entry, RepoQuery)]
    codes = {one.code for one in queries}
    if corpus is not None and len(codes) > 1:
        raise source.at(1).error(
            f"the file asks about {len(codes)} repositories or commits, and the corpus given can be only one of them",
            "leave the corpus out: the file names them itself",
        )
    omitted = left_out([entry for entry in entries if isinstance(entry, Omitted)])

    def spec(code: RepoRevision) -> CorpusSpec:
        return corpus or CorpusSpec("git", f"https://github.com/{code.repository}", rev=code.commit)

    return split(source, name, queries, spec, {**provenance, **omitted})


def in_folders(source: GoldSource, corpus: CorpusSpec | None) -> Callable[[RepoRevision], CorpusSpec]:
    """Return where repositories are that a file only names: each in a directory of the given corpus."""
    if corpus is None:
        raise source.at(1).error(
            "the file names its repositories, not where they are",
            corpus_hint(source.path, several=True) + "; FOLDER holds each repository in a folder of its name",
        )
    above = f"{corpus.root.strip('/')}/" if corpus.root else ""
    return lambda code: replace(corpus, root=f"{above}{code.repository}")


def split(
    source: GoldSource,
    name: str,
    queries: Sequence[RepoQuery],
    spec: Callable[[RepoRevision], CorpusSpec],
    provenance: Mapping[str, str],
) -> list[GoldSet]:
    """Return one gold set per revision, in order of first use; a single one keeps the name of the file."""
    groups: dict[RepoRevision, list[Query]] = {}
    for one in queries:
        groups.setdefault(one.code, []).append(one.query)
    if not groups:
        reason = provenance.get("left out", "nothing")
        raise source.at(1).error(f"no query of the file can be asked: {reason}", "check that this is the right file")
    labels = safe_ids(f"{name}-{code.label}" for code in groups)
    return [
        build_gold(
            labels[f"{name}-{code.label}"] if len(groups) > 1 else name,
            spec(code),
            asked,
            source.at(asked[0].line),
            provenance,
        )
        for code, asked in groups.items()
    ]

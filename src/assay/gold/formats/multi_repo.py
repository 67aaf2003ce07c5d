"""Files that ask about several repositories: one gold set for each repository and commit, and what is in no set."""

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


def require_corpus(source: GoldSource, corpus: CorpusSpec | None) -> CorpusSpec:
    """Give the corpus, for formats that have no place for it."""
    if corpus is None:
        raise source.at(1).error(NO_CORPUS, corpus_hint(source.path))
    return corpus


def corpus_hint(path: Path, *, several: bool = False) -> str:
    """Say how to name the corpus, in words that are true of every command: only some have --corpus."""
    stem = path.parent / (path.stem or path.resolve().stem)
    where = "FOLDER" if several else "PATH"
    names = shlex.join([str(path), f"{stem}-native/" if several else f"{stem}.yaml"])
    return (
        f"convert it to native first: assay gold convert {names} --to native --corpus {where}; "
        f"run, gold lint and gold review take --corpus {where} themselves, Python takes corpus=..."
    )


_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_.-]*[A-Za-z0-9_-]")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_SHORT = 12  # digits of a commit in the name of a set: two of one repository never agree in so many
_EXAMPLES = 5  # of what is left out that are named; the rest is counted


@dataclass(frozen=True, slots=True)
class RepoRevision:
    """The code that a query asks about: a repository, and a commit where the file names one."""

    repository: str
    commit: str = ""

    @property
    def label(self) -> str:
        """Name it inside the name of a set."""
        return f"{self.repository}-{self.commit[:_SHORT]}" if self.commit else self.repository


@dataclass(frozen=True, slots=True)
class RepoQuery:
    """A query and the code it asks about."""

    code: RepoRevision
    query: Query


@dataclass(frozen=True, slots=True)
class Omitted:
    """Something of a file that is in no set: what is counted, and which one this is."""

    kind: str
    which: str


def left_out(left: Sequence[Omitted]) -> dict[str, str]:
    """Tell, as provenance, what is in no set: how many of each kind, and the first of them by name."""
    kinds = {kind: [one.which for one in left if one.kind == kind] for kind in dict.fromkeys(one.kind for one in left)}
    told = [f"{kind}: {len(which)} ({_first(which)})" for kind, which in kinds.items()]
    return {"left out": "; ".join(told)} if told else {}


def split(
    source: GoldSource,
    name: str,
    asked: Sequence[RepoQuery],
    spec: Callable[[RepoRevision], CorpusSpec],
    provenance: Mapping[str, str],
) -> list[GoldSet]:
    """Make a set for each code that is asked about, in the order they begin; a single one keeps the file's name."""
    groups: dict[RepoRevision, list[Query]] = {}
    for one in asked:
        groups.setdefault(one.code, []).append(one.query)
    if not groups:
        reason = provenance.get("left out", "nothing")
        raise source.at(1).error(f"no query of the file can be asked: {reason}", "check that this is the right file")
    labels = safe_ids(f"{name}-{code.label}" for code in groups)
    names = {code: labels[f"{name}-{code.label}"] if len(groups) > 1 else name for code in groups}
    return [
        build_gold(names[code], spec(code), queries, source.at(queries[0].line), provenance)
        for code, queries in groups.items()
    ]


def from_github(
    source: GoldSource,
    name: str,
    corpus: CorpusSpec | None,
    entries: Sequence[RepoQuery | Omitted],
    provenance: Mapping[str, str],
) -> list[GoldSet]:
    """Make the sets of a file that asks about repositories of GitHub, and tell in each what is in none."""
    asked = [entry for entry in entries if isinstance(entry, RepoQuery)]
    left = left_out([entry for entry in entries if isinstance(entry, Omitted)])
    return split(source, name, asked, _on_github(source, corpus, asked), {**provenance, **left})


def _on_github(
    source: GoldSource, corpus: CorpusSpec | None, asked: Sequence[RepoQuery]
) -> Callable[[RepoRevision], CorpusSpec]:
    """Say where repositories of GitHub come from; a corpus that is given must be the only one asked about."""
    codes = {one.code for one in asked}
    if corpus is not None and len(codes) > 1:
        raise source.at(1).error(
            f"the file asks about {len(codes)} repositories or commits, and the corpus given can be only one of them",
            "leave the corpus out: the file names them itself",
        )
    return lambda code: corpus or CorpusSpec("git", f"https://github.com/{code.repository}", rev=code.commit)


def in_folders(source: GoldSource, corpus: CorpusSpec | None) -> Callable[[RepoRevision], CorpusSpec]:
    """Say where repositories come from that a file only names: each is a folder of the corpus given."""
    if corpus is None:
        raise source.at(1).error(
            "the file names its repositories, not where they are",
            corpus_hint(source.path, several=True) + "; FOLDER holds each repository in a folder of its name",
        )
    above = f"{corpus.root.strip('/')}/" if corpus.root else ""
    return lambda code: replace(corpus, root=f"{above}{code.repository}")


def github_code(repository: str, commit: str, place: GoldLocation) -> RepoRevision:
    """Check a repository of GitHub and a commit."""
    if not _REPOSITORY.fullmatch(repository):
        raise place.error(f"'{repository}' is not a repository of GitHub", "write it as owner/name")
    if not _COMMIT.fullmatch(commit):
        raise place.error(f"'{commit}' is not a commit", "write the hexadecimal id of a commit")
    return RepoRevision(repository, commit)


def _first(which: Sequence[str]) -> str:
    more = ", ..." if len(which) > _EXAMPLES else ""
    return ", ".join(which[:_EXAMPLES]) + more

"""From a folder of git repositories to pairs of a text and the code it speaks of."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from time import perf_counter
from typing import Final

from assay.corpus import decode_text
from assay.digests import digest_of
from assay.errors import CorpusError
from assay.files import write_atomic
from assay.store import code_digest
from assay.syntax.grammars import GRAMMARS, load_grammar, packages
from assay.training.commits import CommitMiner
from assay.training.config import MiningConfig
from assay.training.exclusion import ExclusionIndex, Exclusions, build_exclusions
from assay.training.forks import WorkerTask, run_tasks
from assay.training.miners import DefinitionMiner, mine_headings, mine_path
from assay.training.repositories import (
    EVERYBODYS,
    GitRepo,
    LearningScope,
    Licence,
    LicensedFolders,
    TreeEntry,
    decide,
    find_repositories,
    folder_licences,
    judge_folders,
    licence_paths,
    list_files,
    read_files,
)
from assay.training.sampling import Collection
from assay.training.shards import KINDS, PairShard, RepoReport, pack, read_report, write_report, write_shard
from assay.training.sources import FileSelection, choose, find_scripts, open_source

#: The code that decides what is in a shard.
_MINERS: Final = (
    "training/mine.py",
    "training/repositories.py",
    "training/exclusion.py",
    "training/sources.py",
    "training/miners.py",
    "training/commits.py",
    "training/sampling.py",
    "training/shards.py",
    "training/text.py",
    "training/config.py",
    "syntax",
    "search/words.py",
    "search/query.py",
    "search/chunking.py",
    "corpus/languages.py",
)


def shard_identity(repository: GitRepo, config: MiningConfig, exclusions: str) -> str:
    """Digest all that decides what is in a shard; `exclusions` is the digest of theirs."""
    facts = [repository.name, repository.commit, asdict(config), exclusions, _code_digest()]
    return digest_of(facts)


@cache
def _code_digest() -> str:
    versions = {name: metadata.version(name) for name in ("tree-sitter", "PyStemmer", *packages())}
    return digest_of([versions, code_digest(*_MINERS)])


_LICENCE_BYTES: Final = 200_000  # a longer text lists the licences of all that is used


@dataclass(frozen=True, slots=True)
class Event:
    """One repository is done with."""

    done: int
    total: int
    report: RepoReport
    seconds: float


@dataclass(frozen=True, slots=True)
class MiningPlan:
    """What is mined, how, and where to; the code that must not be learned from is known."""

    found: tuple[GitRepo, ...]
    config: MiningConfig
    out: Path
    barrier: ExclusionIndex
    workers: int

    def mine(self) -> Iterator[Event]:
        """Mine every repository; each is told of when it is done, in no certain order."""
        reports: list[RepoReport] = []
        for report, seconds in _reports(self.found, self.config, self.out / "shards", self.barrier, self.workers):
            reports.append(report)
            yield Event(len(reports), len(self.found), report, seconds)
        _summarise(self.out, reports, self.barrier)


def prepare(
    folder: Path,
    config: MiningConfig,
    out: Path,
    exclusions: Exclusions,
    workers: int | None = None,
    *,
    corpora: Path | None = None,
) -> MiningPlan:
    """Find the repositories under a folder, and the windows of those that are excluded.

    What lies under `corpora` is excluded as if it were on the list, and lends its windows.
    """
    workers = workers or os.cpu_count() or 1
    found = find_repositories(folder)
    if not found:
        raise CorpusError("no git repository lies in this folder", file=folder, hint="clone some into it")
    others = find_repositories(corpora) if corpora is not None else ()
    listed = exclusions.joined(others)
    barrier = build_exclusions(listed, (*found, *others), config.windows, out / "exclusion", workers)
    return MiningPlan(found, config, out, barrier, workers)


def _reports(
    found: Sequence[GitRepo], config: MiningConfig, shards: Path, barrier: ExclusionIndex, workers: int
) -> Iterator[tuple[RepoReport, float]]:
    tasks: list[WorkerTask[tuple[RepoReport, float]]] = []
    for one in sorted(found, key=lambda one: (-one.bytes, one.name)):
        why = barrier.exclusions.why(one)
        identity = shard_identity(one, config, barrier.digest)
        if why is not None:
            _forget(shards, one)
            yield RepoReport(one.name, one.url, one.commit, reason=why), 0.0
        elif (kept := _kept(shards, one, identity)) is not None:
            yield kept, 0.0
        else:
            tasks.append(WorkerTask(one.name, _Mining(one, config, barrier, shards, identity)))
    for grammar in GRAMMARS if tasks else ():
        load_grammar(grammar)  # once, rather than in every child
    commits = {one.name: one for one in found}
    for done in run_tasks(tasks, workers):
        if done.error is not None:
            one = commits[done.name]
            yield RepoReport(one.name, one.url, one.commit, reason=f"failed: {done.error}"), 0.0
        else:
            yield done.result()


@dataclass(frozen=True, slots=True)
class _Mining:
    """The work on one repository."""

    repository: GitRepo
    config: MiningConfig
    barrier: ExclusionIndex
    shards: Path
    identity: str

    def __call__(self) -> tuple[RepoReport, float]:
        begun = perf_counter()
        one = self.repository
        mined = mine_repository(one, self.config, self.barrier)
        _forget(self.shards, one)
        if mined.shard is not None:
            write_shard(self.shards / f"{one.file_name}.assay", mined.shard)
        write_report(self.shards / f"{one.file_name}.json", mined.report, self.identity)
        return mined.report, perf_counter() - begun


@dataclass(frozen=True, slots=True)
class Mined:
    """What a repository gave."""

    shard: PairShard | None
    report: RepoReport


def mine_repository(
    repository: GitRepo, config: MiningConfig, barrier: ExclusionIndex, scope: LearningScope = EVERYBODYS
) -> Mined:
    """Mine one repository, if its licence lets us."""
    entries = list_files(repository)
    licence, folders = _licences(repository, entries)
    if licence.permissive is None and not scope.own:
        return Mined(None, RepoReport(repository.name, repository.url, repository.commit, reason=licence.problem))
    scripts = find_scripts(repository, entries, config)
    folders = LicensedFolders() if scope.own else folders
    choice = choose(entries, scripts, config, folders, scope)
    collection = Collection(config)
    collection.dropped.update(choice.dropped)
    read = _mine_files(repository, choice, barrier, config, collection, scope)
    here = {entry.path: (number, entry) for number, entry in enumerate(entries)}
    CommitMiner(repository, here, scripts, read, barrier.windows, folders, config, collection, scope).mine()
    pairs = collection.pairs()
    shard = pack(repository.name, pairs)
    report = RepoReport(
        repository.name,
        repository.url,
        repository.commit,
        licence.permissive or "",
        {kind: sum(pair.kind == kind for pair in pairs) for kind in KINDS},
        dict(sorted(Counter(pair.language for pair in pairs).items())),
        {reason: count for reason, count in sorted(collection.dropped.items()) if count},
        sum(reason is None for reason in read.values()),
    )
    return Mined(shard, report)


def _mine_files(
    repository: GitRepo,
    choice: FileSelection,
    barrier: ExclusionIndex,
    config: MiningConfig,
    collection: Collection,
    scope: LearningScope,
) -> dict[str, str | None]:
    chosen = {file.entry.path: file for file in (*choice.code, *choice.docs)}
    code = {file.entry.path for file in choice.code}
    read: dict[str, str | None] = {}
    for entry, data in read_files(repository, [file.entry for file in chosen.values()]):
        source = open_source(chosen[entry.path], data, barrier.windows, config, scope)
        read[entry.path] = source if isinstance(source, str) else None
        if isinstance(source, str):
            collection.dropped[source] += 1
            continue
        if entry.path in code:
            DefinitionMiner(source, config, collection).mine()
            mine_path(source, config, collection)
        else:
            mine_headings(source, config, collection)
    return read


def _licences(repository: GitRepo, entries: Sequence[TreeEntry]) -> tuple[Licence, LicensedFolders]:
    paths = [entry.path for entry in entries]
    deciding, lower = licence_paths(paths), folder_licences(paths)
    wanted = {*deciding, *lower}
    files = [entry for entry in entries if entry.path in wanted and entry.size < _LICENCE_BYTES]
    texts = {entry.path: decode_text(data) for entry, data in read_files(repository, files)}
    root = {path: texts[path] for path in deciding if path in texts}
    return decide(root), judge_folders({path: texts.get(path, "") for path in lower}, root.values(), paths)


def _kept(shards: Path, one: GitRepo, identity: str) -> RepoReport | None:
    report = read_report(shards / f"{one.file_name}.json", identity)
    there = report is not None and (report.reason or (shards / f"{one.file_name}.assay").exists())
    return report if there else None


def _forget(shards: Path, one: GitRepo) -> None:
    for end in ("json", "assay"):
        (shards / f"{one.file_name}.{end}").unlink(missing_ok=True)


def _summarise(out: Path, reports: Sequence[RepoReport], barrier: ExclusionIndex) -> None:
    summary = {
        "repositories": [report.to_json() for report in sorted(reports, key=lambda report: report.repository)],
        "windows": len(barrier.windows),
        "windows_of": dict(barrier.checked),
        "windows_not_checked": list(barrier.unchecked),
    }
    write_atomic(out / "mining.json", json.dumps(summary, indent=1, ensure_ascii=False) + "\n")

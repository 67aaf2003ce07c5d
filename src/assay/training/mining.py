from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from typing import Final, NamedTuple

from assay.corpus import decode_text
from assay.digests import code_digest, digest_of
from assay.errors import CorpusError
from assay.files import write_atomic
from assay.processes.forks import run_forked
from assay.syntax.parsing import GRAMMARS, grammar_packages, load_grammar
from assay.training.config import MiningConfig
from assay.training.pairs import CommitMiner, mine_definitions, mine_headings, mine_path
from assay.training.repositories import (
    PUBLIC,
    GitRepo,
    LearningScope,
    License,
    LicensedDirectories,
    TreeEntry,
    decide_license,
    find_directory_licenses,
    find_repositories,
    find_root_licenses,
    judge_directories,
    list_files,
    read_files,
)
from assay.training.selection import (
    ExclusionIndex,
    Exclusions,
    build_exclusions,
    find_scripts,
    open_source,
    select_files,
)
from assay.training.shards import KINDS, Collection, PairShard, RepoReport, pack, read_report, write_report, write_shard

#: The code that determines the content of a shard.
_CODE: Final = (
    "training/mining.py",
    "training/repositories.py",
    "training/selection.py",
    "training/pairs.py",
    "training/shards.py",
    "training/config.py",
    "redaction.py",
    "syntax",
    "search/query.py",
    "search/chunking.py",
    "corpus/file_types.py",
)
_LICENSE_BYTES: Final = 200_000  # a longer text lists the licenses of all dependencies


@dataclass(frozen=True, slots=True)
class Event:
    done: int
    total: int
    report: RepoReport


@dataclass(frozen=True, slots=True)
class MiningPlan:
    found: tuple[GitRepo, ...]
    config: MiningConfig
    out: Path
    excluded: ExclusionIndex
    workers: int

    def mine(self) -> Iterator[Event]:
        """Mine all repositories, in any order; yield an event after each repository, and finally write mining.json."""
        reports: list[RepoReport] = []
        for report in self._mine_all():
            reports.append(report)
            yield Event(len(reports), len(self.found), report)
        summary = {
            "repositories": [asdict(report) for report in sorted(reports, key=lambda report: report.repository)],
            "windows": len(self.excluded.windows),
            "windows_of": dict(self.excluded.checked),
            "windows_not_checked": list(self.excluded.unchecked),
        }
        write_atomic(self.out / "mining.json", json.dumps(summary, indent=1, ensure_ascii=False) + "\n")

    def _mine_all(self) -> Iterator[RepoReport]:
        tasks: dict[str, Callable[[], RepoReport]] = {}
        for repository in sorted(self.found, key=lambda repository: (-repository.bytes, repository.name)):
            identity = shard_identity(repository, self.config, self.excluded.digest)
            report = read_report(self._path(repository, "json"), identity)
            if reason := self.excluded.exclusions.find_reason(repository):
                self._remove(repository)
                yield RepoReport(repository.name, repository.url, repository.commit, reason=reason)
            elif report is not None and (report.reason or self._path(repository, "assay").exists()):
                yield report
            else:
                tasks[repository.name] = partial(self._mine_one, repository, identity)
        for grammar in GRAMMARS if tasks else ():
            load_grammar(grammar)  # once, rather than in every child
        by_name = {repository.name: repository for repository in self.found}
        for name, done in run_forked(tasks, self.workers):
            repository, error = by_name[name], done.exception()
            failed = RepoReport(name, repository.url, repository.commit, reason=f"failed: {error}")
            yield failed if error else done.result()

    def _mine_one(self, repository: GitRepo, identity: str) -> RepoReport:
        mined = mine_repository(repository, self.config, self.excluded)
        self._remove(repository)
        if mined.shard is not None:
            write_shard(self._path(repository, "assay"), mined.shard)
        write_report(self._path(repository, "json"), mined.report, identity)
        return mined.report

    def _remove(self, repository: GitRepo) -> None:
        for end in ("json", "assay"):
            self._path(repository, end).unlink(missing_ok=True)

    def _path(self, repository: GitRepo, end: str) -> Path:
        return self.out / "shards" / f"{repository.file_name}.{end}"


def prepare(
    directory: Path,
    config: MiningConfig,
    out: Path,
    exclusions: Exclusions,
    workers: int | None = None,
    *,
    corpora: Path | None = None,
) -> MiningPlan:
    """Find the repositories under a directory, and collect the windows of the excluded ones.

    Repositories under `corpora` are excluded as if `exclusions` listed them.
    """
    workers = workers or os.cpu_count() or 1
    repositories = find_repositories(directory)
    if not repositories:
        raise CorpusError("no git repository found", file=directory, hint="clone repositories into this directory")
    others = find_repositories(corpora) if corpora is not None else ()
    listed = Exclusions(tuple(sorted({*exclusions.names, *(repository.name for repository in others)})))
    excluded = build_exclusions(listed, (*repositories, *others), config.windows, out / "exclusion", workers)
    return MiningPlan(repositories, config, out, excluded, workers)


def shard_identity(repository: GitRepo, config: MiningConfig, exclusions: str) -> str:
    return digest_of([repository.name, repository.commit, asdict(config), exclusions, _code_digest()])


@cache
def _code_digest() -> str:
    versions = {name: metadata.version(name) for name in ("tree-sitter", "PyStemmer", *grammar_packages())}
    return digest_of([versions, code_digest(*_CODE)])


class Mined(NamedTuple):
    shard: PairShard | None
    report: RepoReport


def mine_repository(
    repository: GitRepo, config: MiningConfig, excluded: ExclusionIndex, scope: LearningScope = PUBLIC
) -> Mined:
    """Mine one repository if its license is permissive or `scope.own` is set."""
    entries = list_files(repository)
    license_, licenses = _read_licenses(repository, entries)
    if license_.permissive is None and not scope.own:
        return Mined(None, RepoReport(repository.name, repository.url, repository.commit, reason=license_.problem))
    scripts = find_scripts(repository, entries, config)
    licenses = LicensedDirectories() if scope.own else licenses
    code, docs, dropped = select_files(entries, scripts, config, licenses, scope)
    collection = Collection(config)
    collection.dropped.update(dropped)
    code_paths, selected = {file.entry.path for file in code}, {file.entry.path: file for file in (*code, *docs)}
    unread: dict[str, str | None] = {}  # reason why a selected file was not read, None if it was
    for entry, data in read_files(repository, [file.entry for file in selected.values()]):
        source = open_source(selected[entry.path], data, excluded.windows, config, scope)
        if isinstance(source, str):
            unread[entry.path] = source
            collection.dropped[source] += 1
            continue
        unread[entry.path] = None
        if entry.path in code_paths:
            mine_definitions(source, config, collection)
            mine_path(source, config, collection)
        else:
            mine_headings(source, config, collection)
    numbered = {entry.path: (number, entry) for number, entry in enumerate(entries)}
    miner = CommitMiner(repository, numbered, scripts, excluded.windows, licenses, config, collection, scope)
    miner.mine(unread)
    pairs = collection.pairs()
    report = RepoReport(
        repository.name,
        repository.url,
        repository.commit,
        license_.permissive or "",
        {kind: sum(pair.kind == kind for pair in pairs) for kind in KINDS},
        dict(sorted(Counter(pair.language for pair in pairs).items())),
        {reason: count for reason, count in sorted(collection.dropped.items()) if count},
        sum(reason is None for reason in unread.values()),
    )
    return Mined(pack(repository.name, pairs, texts=config.texts > 0), report)


def _read_licenses(repository: GitRepo, entries: Sequence[TreeEntry]) -> tuple[License, LicensedDirectories]:
    paths = [entry.path for entry in entries]
    at_root, below = find_root_licenses(paths), find_directory_licenses(paths)
    wanted = {*at_root, *below}
    files = [entry for entry in entries if entry.path in wanted and entry.size < _LICENSE_BYTES]
    texts = {entry.path: decode_text(data) for entry, data in read_files(repository, files)}
    root = {path: texts[path] for path in at_root if path in texts}
    return decide_license(root), judge_directories({path: texts.get(path, "") for path in below}, root.values(), paths)

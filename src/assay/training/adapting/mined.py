"""The pairs of one code base, mined in a process of their own and kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

from assay.errors import EnvironmentFailure, InputError
from assay.syntax.grammars import GRAMMARS, load_grammar
from assay.training.mining.config import MiningConfig
from assay.training.mining.exclusion import OPEN
from assay.training.mining.forking import Task, run_tasks
from assay.training.mining.identity import shard_identity
from assay.training.mining.mining import mine_repository
from assay.training.mining.repositories import Repository
from assay.training.mining.scope import Scope
from assay.training.shards import Shard, read_shard, write_shard

_APART = 2  # workers: with one the task would run in this process, and a parser that crashes would end it


@dataclass(frozen=True, slots=True)
class Miner:
    """Mines a repository that is the user's own, and keeps what it finds."""

    repository: Repository
    config: MiningConfig
    work: Path

    def mine(self, withheld: frozenset[str] = frozenset()) -> Shard:
        """Give the pairs of all files but some; what an earlier run kept is not mined again."""
        scope = Scope(own=True, withheld=withheld)
        facts = sha256("\n".join(sorted(withheld)).encode("utf-8", "surrogatepass")).hexdigest()
        key = shard_identity(self.repository, self.config, f"own {facts}")
        path = self.work / f"{'part' if withheld else 'whole'}-{key[:16]}.assay"
        if not path.exists():
            self._run(Task(self.repository.name, partial(self._write, scope, path)))
        return read_shard(path)

    def _run(self, task: Task[None]) -> None:
        """Do the work where a crash does no harm."""
        for grammar in GRAMMARS:
            load_grammar(grammar)
        for done in run_tasks([task], _APART):
            if isinstance(done.error, InputError):
                raise done.error
            if done.error is not None:
                problem = f"{self.repository.name}: mining failed: {done.error}"
                raise EnvironmentFailure(problem, hint="run it again") from done.error

    def _write(self, scope: Scope, path: Path) -> None:
        """Mine and keep."""
        shard = mine_repository(self.repository, self.config, OPEN, scope).shard
        if shard is not None:  # one's own repository is never left out
            write_shard(path, shard)

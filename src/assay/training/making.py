"""From shards in a folder to a model folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.training.config import TrainConfig
from assay.training.packing import Packed, pack, write_model
from assay.training.stages import Start, Tell, learn


def make_model(
    shards: Sequence[Path],
    config: TrainConfig,
    work: Path,
    out: Path,
    *,
    manifest: Mapping[str, Any],
    tell: Tell = lambda _: None,
    start: Start | None = None,
) -> Packed:
    """Learn, pack and write; `work` keeps what is done, `out` is replaced whole at the end."""
    learned = learn(shards, config, work, tell, start)
    packed = pack(learned.trained.table, learned.vocabulary, learned.translations)
    write_model(out, packed, learned.vocabulary, learned.about(config), manifest)
    tell(f"model {packed.identity[:12]} in {out}")
    return packed

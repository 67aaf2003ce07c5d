"""A run in parts, on machines that know nothing of each other: divided, written down, put together again."""

from assay.experiment.shards.dividing import Shard, choose, parse_shard
from assay.experiment.shards.files import shard_path, write_shard
from assay.experiment.shards.uniting import unite

__all__ = ["Shard", "choose", "parse_shard", "shard_path", "unite", "write_shard"]

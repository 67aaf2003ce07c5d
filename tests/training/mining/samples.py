"""Small repositories of our own, in several languages, for tests of mining."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from assay.training.config import MiningConfig
from assay.training.mining import Mined, mine_repository
from assay.training.repositories import GitRepo, find_repositories
from assay.training.selection import ExclusionIndex, Exclusions, build_exclusions
from assay.training.shards import KINDS, Bags, PairShard
from tests.training.toy import MIT, git

PYTHON = '''\
# Copyright (c) 2020 Somebody. Licensed under the MIT license.
"""Kettles."""

import heat


class Kettle:
    """A vessel in which water is brought to the boil."""

    def pour_water(self, cup, amount):
        """Fill the cup with hot water up to its rim.

        Args:
            cup: where it goes
        """
        while cup.level < amount:
            cup.level += self.drip()
            self.level -= 1
        return pour_water(cup, self.level)


def tiny():
    return 1


# Decide whether the stove must be lit before the next guest arrives.
@heat.cached
def needs_fire(stove, guests):
    for guest in guests:
        if guest.hour < stove.ready:
            return True
    return stove.cold
'''
GO = """\
package harbour

// MoorVessel ties a vessel to the free berth that is nearest to the gate.
func MoorVessel(berths []Berth, vessel *Vessel) error {
	for _, berth := range berths {
		if berth.Free() {
			return berth.Tie(vessel.Rope)
		}
	}
	return errFull
}
"""
RUST = """\
/// Count the seeds that sprout within the given number of days.
#[inline]
pub fn count_sprouts(seeds: &[Seed], days: u32) -> usize {
    seeds
        .iter()
        .filter(|seed| seed.age >= days && seed.watered)
        .count()
}
"""
JAVA = """\
package bakery;

public class OvenShelf {
    /**
     * Moves a loaf to the shelf below, where the heat is milder.
     *
     * @param loaf what is moved
     */
    public Loaf lowerLoaf(Loaf loaf, int steps) {
        Shelf target = this.shelves.get(loaf.level() - steps);
        target.accept(loaf);
        return loaf.withLevel(target.number());
    }
}
"""
ELIXIR = '''\
defmodule Garden.Hedge do
  @moduledoc """
  Keeps the hedges of a garden in shape over the year.
  """

  @doc """
  Trims every hedge that has grown above the wanted height.
  """
  def trim_hedges(hedges, height) do
    hedges
    |> Enum.filter(fn hedge -> hedge.height > height end)
    |> Enum.map(fn hedge -> %{hedge | height: height, trimmed: true} end)
  end
end
'''
SHELL = """\
#!/usr/bin/env bash

# Ring the bell of the tower once for every full hour.
ring_bell() {
  local hour=$1
  for ((stroke = 0; stroke < hour; stroke++)); do
    strike --tower "$TOWER" --loudness high
  done
}
"""
DOCS = """\
# Handbook

Some words.

## How the kettle is cleaned

Rub the inside with vinegar and salt, rinse it three times, and let it dry in the sun.

## License

Permission is hereby granted to everybody.
"""
FILES = {
    "LICENSE": MIT,
    "README.md": DOCS,
    "kitchen/hot_kettle.py": PYTHON,
    "dock/mooring_lines.go": GO,
    "seeds/spring_sprouts.rs": RUST,
    "bakery/OvenShelf.java": JAVA,
    "lib/garden/hedge_trimmer.ex": ELIXIR,
    "bin/tower-bell": SHELL,
}


def make(folder: Path, files: Mapping[str, str | bytes], subject: str = "Everything at once") -> Path:
    """Make a repository, or go on with one, by one commit; what lies in `bin` may be run."""
    if not (folder / ".git").exists():
        folder.mkdir(parents=True)
        git(folder, "init", "-q")
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)
        place.chmod(0o755 if name.startswith("bin/") else 0o644)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", subject)
    return folder


def found(folder: Path) -> GitRepo:
    """Give the one repository that lies in a folder."""
    (one,) = find_repositories(folder)
    return one


def no_exclusions(cache: Path, config: MiningConfig | None = None) -> ExclusionIndex:
    """Exclude nothing."""
    return build_exclusions(Exclusions(()), (), (config or MiningConfig()).windows, cache, 1)


def mined(folder: Path, config: MiningConfig | None = None, excluded: ExclusionIndex | None = None) -> Mined:
    """Mine one repository."""
    config = config or MiningConfig()
    return mine_repository(found(folder), config, excluded or no_exclusions(folder.parent / "cache", config))


def shard_of(folder: Path, config: MiningConfig | None = None) -> PairShard:
    """Mine one repository that gives something."""
    shard = mined(folder, config).shard
    assert shard is not None
    return shard


def row(bags: Bags, words: tuple[str, ...], number: int) -> dict[str, int]:
    """Read a row back as words."""
    begin, end = bags.offset[number : number + 2]
    return {words[t]: int(c) for t, c in zip(bags.term[begin:end], bags.count[begin:end], strict=True)}


def pairs(shard: PairShard | None, kind: str) -> list[tuple[set[str], dict[str, int], set[str]]]:
    """Read the pairs of a kind back: the words of the query, those of the code with counts, those of the path."""
    assert shard is not None
    chosen = [n for n, k in enumerate(shard.kind) if KINDS[k] == kind]
    sides = (shard.query, shard.code, shard.path)
    rows = [[row(side, shard.words, n) for side in sides] for n in chosen]
    return [(set(query), code, set(path)) for query, code, path in rows]


def asking(shard: PairShard, kind: str, *terms: str) -> dict[str, int]:
    """Give the code of the one pair of a kind that asks for these terms."""
    (code,) = [code for query, code, _ in pairs(shard, kind) if set(terms) <= query]
    return code

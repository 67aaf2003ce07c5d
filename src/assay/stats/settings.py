"""What a comparison is asked for, checked once."""

from __future__ import annotations

from dataclasses import dataclass

from assay.errors import ConfigError
from assay.stats.config import DEFAULT, StatsConfig


@dataclass(frozen=True, slots=True)
class Settings:
    """What a comparison was asked for."""

    margin: float = DEFAULT.margin
    alpha: float = DEFAULT.alpha
    seed: int = DEFAULT.seed
    resamples: int = DEFAULT.resamples
    config: StatsConfig = DEFAULT

    def __post_init__(self) -> None:
        """Refuse what no statistic can be made of."""
        if not 0.0 < self.alpha < 0.5:
            raise ConfigError(f"alpha is {self.alpha}", hint="a level between 0 and 0.5, such as 0.05")
        if not self.margin > 0.0:
            raise ConfigError(f"margin is {self.margin}", hint="a difference above 0 that is too small to matter")
        if self.resamples < 1:
            raise ConfigError(f"B is {self.resamples}", hint="at least 1; 10,000 unless there is a reason")
        if self.seed < 0:
            raise ConfigError(f"seed is {self.seed}", hint="a whole number, 0 or above")

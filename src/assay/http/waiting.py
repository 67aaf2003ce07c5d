"""When to ask again."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from assay.http.calls import Broken, Outcome
from assay.http.limits import HttpLimits


def time_to_wait(outcome: Outcome, attempt: int, limits: HttpLimits, chance: random.Random) -> float | None:
    """Say how long to wait before the next attempt; None when there is no use in one."""
    longest = min(limits.backoff_seconds * 2**attempt, limits.longest_backoff)
    backoff = longest * (1 - limits.jitter * chance.random())
    if isinstance(outcome, Broken):
        return backoff if outcome.passing else None
    if outcome.refuses or not (outcome.limits or outcome.status >= 500):
        return None
    asked = _retry_after(outcome.retry_after)
    wait = backoff if asked is None else asked
    return wait if wait <= limits.longest_wait else None


def _retry_after(value: str | None) -> float | None:
    """Read Retry-After, seconds or a date (RFC 9110, 10.2.3); nonsense is as good as nothing."""
    if value is None:
        return None
    try:
        seconds = float(value)
        return seconds if math.isfinite(seconds) and seconds >= 0 else None
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return None
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())

"""Properties of the output terminal: width, color, drawable characters."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from typing import IO, Final

#: Narrower values are reported by terminals that do not know their width.
_MIN_WIDTH = 20
#: Characters used in charts and tables; if one cannot be encoded, all are replaced by ASCII.
_DRAWN: Final = "█▁▇─●┊·✓✗…→−–"
#: ASCII replacements of the same length, so that columns stay aligned.
_ASCII: Final = str.maketrans("─━┈│┊●█▇▆▅▄▃▂▁·✓✗…→←↑↓−–—×≥≤", "---|:o##*+==-_.+x~><^v---x><")
_TRAILING: Final = re.compile(r"[ \t]+(?=\n)")


@dataclass(frozen=True, slots=True)
class Screen:
    """A terminal, or another destination of text output."""

    width: int
    colour: bool = False
    drawn: bool = True  # whether it can show blocks, lines and arrows

    def written(self, text: str) -> str:
        """Return a text without trailing spaces and without characters that cannot be shown."""
        bare = _TRAILING.sub("", text)
        return bare if self.drawn else bare.translate(_ASCII)


def screen_of(stream: IO[str], piped: int) -> Screen:
    """Return the properties of a stream; `piped` is the width without a terminal or COLUMNS.

    NO_COLOR and TERM=dumb turn off all escape sequences.
    """
    terminal = stream.isatty()
    width = shutil.get_terminal_size().columns if terminal or "COLUMNS" in os.environ else piped
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM", "").lower() in ("dumb", "unknown")
    try:
        _DRAWN.encode(getattr(stream, "encoding", None) or "utf-8")
        drawn = True
    except (UnicodeEncodeError, LookupError):
        drawn = False
    return Screen(max(width, _MIN_WIDTH), terminal and not plain, drawn)

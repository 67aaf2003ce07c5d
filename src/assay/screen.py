"""Where words are shown: how wide it is, whether colour is wanted, and which signs it can draw."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from typing import IO, Final

#: No terminal is so narrow; what says it is does not know.
_LEAST = 20
#: What drawings are made of; where one of them cannot be encoded, all are drawn in ASCII.
_DRAWN: Final = "█▁▇─●┊·✓✗…→−–"
#: The same in ASCII, sign for sign, so that nothing that was lined up moves.
_ASCII: Final = str.maketrans("─━┈│┊●█▇▆▅▄▃▂▁·✓✗…→←↑↓−–—×≥≤", "---|:o##*+==-_.+x~><^v---x><")
_TRAILING: Final = re.compile(r"[ \t]+(?=\n)")


@dataclass(frozen=True, slots=True)
class Screen:
    """A terminal, or what stands in its place."""

    width: int
    colour: bool = False
    drawn: bool = True  # whether it can show blocks, lines and arrows

    def written(self, text: str) -> str:
        """Give a text as it is written there: no spaces at the end of lines, no sign that cannot be shown."""
        bare = _TRAILING.sub("", text)
        return bare if self.drawn else bare.translate(_ASCII)


def screen_of(stream: IO[str], piped: int) -> Screen:
    """Look at where a stream goes; `piped` is the width where there is no terminal and nobody set COLUMNS.

    NO_COLOR and TERM=dumb are honoured: what is written then has no escape at all.
    """
    terminal = stream.isatty()
    width = shutil.get_terminal_size().columns if terminal or "COLUMNS" in os.environ else piped
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM", "").lower() in ("dumb", "unknown")
    return Screen(max(width, _LEAST), terminal and not plain, _can_draw(stream))


def _can_draw(stream: IO[str]) -> bool:
    try:
        _DRAWN.encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True

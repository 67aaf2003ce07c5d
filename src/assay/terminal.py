from __future__ import annotations

import os
import re
import shutil
from typing import IO, Final

from assay.records import dataclass

#: Terminals that do not know their width report narrower values.
_MIN_WIDTH = 20
#: Characters used in charts and tables; if one cannot be encoded, all are replaced by ASCII.
_DRAWN: Final = "█▁▇─●┊·✓✗…→−–"
#: ASCII replacements of the same length, so that columns stay aligned.
_ASCII: Final = str.maketrans("─━┈│┊●█▇▆▅▄▃▂▁·✓✗…→←↑↓−–—×≥≤", "---|:o##*+==-_.+x~><^v---x><")
_TRAILING: Final = re.compile(r"[ \t]+(?=\n)")


#: Value of --color; auto follows the environment and the stream.
_choice = "auto"


def choose_color(choice: str | None) -> None:
    """Set whether output is colored: always, never or, by default, only on terminals (auto)."""
    global _choice  # noqa: PLW0603  # one command line per process; an environment variable would reach the engines
    _choice = choice or "auto"


def use_color(stream: IO[str]) -> bool:
    """Return whether to color a stream: by --color, then NO_COLOR, FORCE_COLOR or CLICOLOR_FORCE, then TERM."""
    if _choice != "auto":
        return _choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if any(os.environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return stream.isatty() and not _is_dumb()


def _is_dumb() -> bool:
    return os.environ.get("TERM", "").lower() in ("dumb", "unknown")


@dataclass(frozen=True, slots=True)
class Terminal:
    width: int
    color: bool = False
    unicode: bool = True  # blocks, lines and arrows can be shown
    moves: bool = False  # the cursor can move back, so that a line can be drawn again

    def format(self, text: str) -> str:
        """Remove spaces before newlines; without Unicode, replace the symbols of charts and tables with ASCII."""
        bare = _TRAILING.sub("", text)
        return bare if self.unicode else bare.translate(_ASCII)


def detect_terminal(stream: IO[str], piped: int) -> Terminal:
    """Detect the properties of a stream; `piped` is the width if neither a terminal nor COLUMNS defines one."""
    interactive = stream.isatty()
    width = shutil.get_terminal_size().columns if interactive or "COLUMNS" in os.environ else piped
    try:
        _DRAWN.encode(getattr(stream, "encoding", None) or "utf-8")
        unicode = True
    except (UnicodeEncodeError, LookupError):
        unicode = False
    return Terminal(max(width, _MIN_WIDTH), use_color(stream), unicode, interactive and not _is_dumb())

"""How files are cut, with the reason beside each number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

ChunkKind = Literal["ast", "lines", "tokens", "characters", "file"]


@dataclass(frozen=True, slots=True)
class ChunkConfig:
    """One value that, with a file, decides its units."""

    kind: ChunkKind = field(
        default="ast",  # met the owner's span about twice as often as windows of any size (notes/spans.md)
        metadata={"about": "cut by syntax, by a number of lines, tokens or characters, or not at all"},
    )
    size: int = field(
        default=50,  # about a screen
        metadata={"about": "lines, tokens or characters of a chunk that is not cut by syntax"},
    )
    overlap: int = field(
        default=0,  # spans that share lines would be answers given twice
        metadata={"about": "how much neighbouring chunks share, in the unit of `size`"},
    )
    longest: int = field(
        default=70,  # a longer unit costs an agent more than it tells
        metadata={"about": "lines above which a definition is cut into parts"},
    )
    part: int = field(
        default=50,  # 30 to 80 were tried: 50 was best on octocode's code by .014-.019, flat elsewhere
        metadata={"about": "lines that the parts of an oversized definition aim at"},
    )
    slack: int = field(
        default=7,  # enough to reach the next statement in most code
        metadata={"about": "lines by which a cut may move to fall between statements"},
    )
    shortest: int = field(
        default=8,  # the knee: 5 gives tighter spans, 12 more overlap
        metadata={"about": "lines below which neighbouring definitions are packed together"},
    )
    packed: int = field(
        default=16,  # twice the shortest, so that packing stops at two or three
        metadata={"about": "lines that a pack of small definitions may have"},
    )
    whole_class: int = field(
        default=15,  # a class of a screen's third reads best in one piece; 0 to 50 are within .013
        metadata={"about": "lines up to which a class is kept in one piece"},
    )

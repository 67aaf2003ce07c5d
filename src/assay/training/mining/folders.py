"""Which parts of a repository are under a licence of their own? The nearest licence file above a file decides."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from assay.corpus.walking.languages import detect
from assay.training.mining.licences import PERMISSIVE, decide, is_licence, of_others, plain_text

#: Why a file is not read.
FOLDER_LICENCE: Final = "licence of its folder"
#: What a text says that sends the reader to the licence above: a path, or where it lies.
_ABOVE: Final = re.compile(r"(?:^|[\s(\"'`<])\.\.?/|\b(?:root|top[- ]?level|parent|main)\b", re.IGNORECASE)
_POINTER: Final = 500  # characters; a text that only points is a sentence or a path
#: Files whose name has `license` in it, but that are no text for people.
_NO_TEXT: Final = re.compile(r"\.(?:png|svg|jpe?g|gif|ico|pdf|json|ya?ml|toml|xml|csv|lock|snap|map)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Folders:
    """Whether the licence of a folder lets us learn from it, for the folders that have one of their own."""

    lets: Mapping[str, bool] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()  # names of the files that are not read: an earlier place may be anywhere

    def bars(self, path: str) -> bool:
        """Tell whether the nearest licence above a file forbids it; the root's is decided elsewhere."""
        folder = path
        while folder := folder.rpartition("/")[0]:
            if folder in self.lets:
                return not self.lets[folder]
        return False

    def bars_past(self, path: str, here: Container[str]) -> bool:
        """Tell it of a path of the history; one that is gone goes by its name too, since folders move."""
        return self.bars(path) or (path not in here and path.rpartition("/")[2] in self.gone)


def folder_licences(paths: Iterable[str]) -> list[str]:
    """List the licence files below the root, as far as they are about the folder that they lie in."""
    return [path for path in paths if "/" in path and _is_text(path) and not of_others(path.rpartition("/")[2])]


def judge_folders(texts: Mapping[str, str], root: Collection[str], paths: Iterable[str]) -> Folders:
    """Judge each folder by its licence files; `texts` are theirs by path, `root` those that the repository goes by.

    A folder whose files repeat the root's or point to it is as if it had none. A text that nobody knows forbids.
    """
    known = frozenset(map(plain_text, root))
    by_folder: dict[str, dict[str, str]] = defaultdict(dict)
    for path, text in texts.items():
        by_folder[path.rpartition("/")[0]][path] = text
    lets = {
        folder: decide(files).permissive is not None
        for folder, files in sorted(by_folder.items())
        if not _passes(files, known)
    }
    folders = Folders(lets)
    return Folders(lets, frozenset(path.rpartition("/")[2] for path in paths if folders.bars(path)))


def _passes(files: Mapping[str, str], root: frozenset[str]) -> bool:
    """Tell whether licence files say no more than those of the root."""
    plain = frozenset(map(plain_text, files.values()))
    if plain == root:
        return True
    said = all(plain_text(text) in root or _points(text) for text in files.values())
    return said and set(decide(files).found) <= PERMISSIVE


def _points(text: str) -> bool:
    """Tell whether a text does no more than to point to the licence above."""
    return len(text) <= _POINTER and "licen" in text.lower() and _ABOVE.search(text) is not None


def _is_text(path: str) -> bool:
    """Tell a licence from code and data about licences, by the name; `LICENSES` at the root belongs to the root."""
    if path.lower().startswith("licenses/") or not is_licence(path):
        return False
    return detect(path, b"").kind != "code" and _NO_TEXT.search(path) is None

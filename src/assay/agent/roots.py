"""Which folders are served, and where a path that somebody names lies in them. Nothing outside is ever touched."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from assay.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Inside:
    """A place in a served folder."""

    root: Path
    path: str  # POSIX, relative to the root; nothing for the root itself

    @property
    def real(self) -> Path:
        """Where it is on this machine."""
        return self.root / self.path

    def holds(self, path: str) -> bool:
        """Tell whether a path of the same root is this one or lies below it."""
        return not self.path or path == self.path or path.startswith(f"{self.path}/")


@dataclass(frozen=True, slots=True)
class Roots:
    """The folders that are served, with every link in them followed, each once."""

    folders: tuple[Path, ...]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Roots:
        """Check the folders that are named; this one where none is."""
        folders = [_folder(text) for text in texts] or [_folder(".")]
        return cls(tuple(dict.fromkeys(folders)))

    def find(self, text: str | None) -> Inside:
        """Find a path, absolute or relative to a served folder; one that leads outside is refused, by links too."""
        if not text or text == ".":
            return self._only()
        found = list(dict.fromkeys(inside for path in self._meant(text) if (inside := self._inside(path))))
        if not found:
            raise ConfigError("lies outside of what is served", file=_shown(text), hint=f"served: {self}")
        there = [inside for inside in found if inside.real.exists()]
        if len(there) > 1:
            raise ConfigError("is in several served folders", file=_shown(text), hint="write it as an absolute path")
        return (there or found)[0]

    def existing(self, text: str | None, what: str) -> Inside:
        """Find a path that must be there; `what` is a word for it."""
        inside = self.find(text)
        if not inside.real.exists():
            hint = f"paths start at {inside.root}, or are absolute"
            raise ConfigError(f"there is no such {what}", file=_shown(text or "."), hint=hint)
        return inside

    def holds(self, path: Path) -> bool:
        """Tell whether a path lies in a served folder, links followed."""
        return self._inside(path) is not None

    def _only(self) -> Inside:
        """Take the folder where there is only one."""
        if len(self.folders) > 1:
            raise ConfigError("several folders are served", hint=f"name one of them as path: {self}")
        return Inside(self.folders[0], "")

    def _meant(self, text: str) -> list[Path]:
        """List what a text may mean; the same text may name a path in several folders."""
        if "\0" in text:
            return []
        return [Path(text)] if Path(text).is_absolute() else [folder / text for folder in self.folders]

    def _inside(self, path: Path) -> Inside | None:
        """Place a path in the innermost folder that holds it, after every link."""
        try:
            real = path.resolve()
        except (OSError, RuntimeError):  # a link that leads to itself
            return None
        holders = [folder for folder in self.folders if real.is_relative_to(folder)]
        if not holders:
            return None
        root = max(holders, key=lambda folder: len(folder.parts))
        name = real.relative_to(root).as_posix()
        return Inside(root, "" if name == "." else name)

    def __str__(self) -> str:
        """The folders, for a message."""
        return ", ".join(map(str, self.folders))


def join(folder: str | None, file: str) -> str:
    """Name a file in the folder that was chosen; an absolute path chooses by itself."""
    return f"{folder}/{file}" if folder and not file.startswith("/") else file


def _folder(text: str) -> Path:
    """Check a folder that is going to be served."""
    folder = Path(text)
    if not folder.is_dir():
        raise ConfigError("no such folder", file=folder, hint="name folders of code to serve")
    return folder.resolve()


def _shown(text: str) -> str:
    """Show a path of a stranger in a message: one line, of bounded length."""
    return "".join(char if char.isprintable() else "�" for char in text[:200])

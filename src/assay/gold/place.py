"""Where in a gold file something stands, so that every complaint can say so."""

from __future__ import annotations

from dataclasses import dataclass

from assay.errors import GoldError


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file."""

    file: str
    line: int | None = None

    def error(self, message: str, hint: str | None = None) -> GoldError:
        """Make the error that points here."""
        return GoldError(message, file=self.file, line=self.line, hint=hint)

    def text(self, value: str, what: str) -> str:
        """Give back a text that says something and can be written to a file again."""
        if not value.strip():
            raise self.error(f"{what} is empty", "write it, or leave the key out where it is optional")
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise self.error(f"{what} holds half a surrogate pair, which is no character", "write the whole character")
        return value

    def name(self, value: str, what: str) -> str:
        """Give back a text that can be part of a key, a file name and a TREC line."""
        self.text(value, what)
        if "/" in value or any(character.isspace() for character in value):
            raise self.error(f"{what} '{value}' has a blank or a slash in it", "use words joined by '-'")
        return value

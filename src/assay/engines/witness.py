"""What the programs of a session took and said, those that have ended included."""

from __future__ import annotations

from assay.processes import Finished


class Witness:
    """Keeps the most memory that any program took, and the end of what each last said on stderr."""

    def __init__(self) -> None:
        self.peak_bytes: int | None = None
        self._indexed = self._failed = self._said = ""

    def see_index(self, finished: Finished) -> None:
        """Keep what making the index took, and what was said."""
        self._indexed = _text(finished.stderr)
        self.note_peak(finished.peak_bytes)

    def see_query(self, finished: Finished) -> None:
        """Keep what a query took; what was said of one that did not come to its end is a failure's."""
        self.note_peak(finished.peak_bytes)
        if finished.end != "exit":
            self.note_failure(finished.stderr)
        else:
            self.note_words(finished.stderr)

    def note_peak(self, peak: int | None) -> None:
        """Keep the most memory that anything took."""
        self.peak_bytes = max((value for value in (peak, self.peak_bytes) if value is not None), default=None)

    def note_words(self, stderr: bytes) -> None:
        """Keep what a program said last that did nothing wrong; silence is no news."""
        self._said = _text(stderr) or self._said

    def note_failure(self, stderr: bytes) -> None:
        """Keep what a program complained of when it failed last."""
        self._failed = _text(stderr)
        self._said = "" if self._said == self._failed else self._said  # it was taken for no failure at first

    def stderr(self) -> str:
        """Give all that was said, under who said it."""
        said = (("index", self._indexed), ("last failure", self._failed), ("program", self._said))
        return "\n".join(f"[{who}]\n{text}" for who, text in said if text)


def _text(stderr: bytes) -> str:
    """Read what was said, without the blanks around it."""
    return stderr.decode("utf-8", "replace").strip()

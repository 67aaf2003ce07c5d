"""What the programs of a session leave running behind them: ended when the session is, and told."""

from __future__ import annotations

from assay.processes import end_stragglers, new_marker


class Leftovers:
    """Processes that outlive the programs of one session; they are known by its marker."""

    def __init__(self) -> None:
        self.marker = new_marker()
        self._ended = 0

    def end(self) -> None:
        """End what is left, once every program of the session has ended."""
        self._ended += end_stragglers(self.marker)

    def remarks(self) -> tuple[str, ...]:
        """Tell how many there were."""
        if not self._ended:
            return ()
        things = "1 process" if self._ended == 1 else f"{self._ended} processes"
        return (f"left {things} running, which {'was' if self._ended == 1 else 'were'} ended",)

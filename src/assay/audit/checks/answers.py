"""Check that ordinary queries return results."""

from __future__ import annotations

from collections.abc import Iterator

from assay.audit.checks.base import AuditCheck
from assay.audit.records import AuditFinding, Severity, share_of
from assay.audit.sessions import AuditSessions


def check(bench: AuditSessions) -> Iterator[AuditFinding]:
    """Count the ordinary queries that failed, and those that found nothing."""
    k = bench.config.k
    read = {text: bench.answer(text, k) for text in bench.texts}
    failed = [text for text, reading in read.items() if not reading.ok]
    empty = [text for text, reading in read.items() if reading.ok and not reading.places]
    total = len(read)
    if failed:
        example = [f"{failed[0]!r}: {read[failed[0]].show(bench.config.shown)}"]
        yield bench.finding(
            CHECK.name, "answers", Severity.BROKEN, f"{len(failed)} of {total} ordinary queries failed",
            share=share_of(len(failed), total), example=example, commands=[bench.ask_command(failed[0], k)],
        )  # fmt: skip
        return
    said = f"all {total} ordinary queries were answered"
    said += f"; {len(empty)} found nothing, such as {empty[0]!r}" if empty else ""
    yield bench.finding(CHECK.name, "answers", Severity.FINE, said, share=share_of(0, total))


CHECK = AuditCheck("answers", "are ordinary queries answered at all?", check)

"""A gate as Markdown for GitHub, inside its limits: what is cut is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.errors import AssayError
from assay.report.commands.gating import DOUBT, VERDICTS, Check, Gate, check_table
from assay.report.comparison_blocks import comparison_blocks
from assay.report.evidence.losses import loss_blocks
from assay.report.evidence.steadiness import steadiness_blocks
from assay.report.pages.document import Block, Code, Document, Heading, Paragraph, Table
from assay.report.pages.markdown import block_markdown
from assay.report.pages.texts import tame
from assay.report.wording import count

#: What a comment and the summary of a step hold. GitHub counts characters of the first; bytes are never fewer.
COMMENT_BYTES = 65_536
SUMMARY_BYTES = 1_048_576
#: Signs for those who only glance; the word stands beside each.
_PASSED, _DOUBTED, _FAILED = "✅", "⚠️", "❌"
_LEVEL = 3  # of the title: a comment is no page of its own
#: Characters of an error that are shown.
_ERROR = 4000


@dataclass(frozen=True, slots=True)
class Page:
    """What is said of a gate: first what decides, then what is behind it."""

    verdict: str
    exit_code: int
    first: tuple[Block, ...]
    behind: tuple[Block, ...] = ()


def gate_page(gate: Gate) -> Page:
    """Show a gate: the verdict in a sentence, the checks, where it hurts; the comparison behind them folded away."""
    first: list[Block] = [
        Paragraph(_sentence(gate)),
        *(Paragraph(note, "warning") for note in gate.notes),
        check_table(gate),
    ]
    behind: list[Block] = []
    if gate.comparison:
        behind = [Heading("The comparison"), *comparison_blocks(gate.comparison)]
    return Page(
        gate.verdict,
        gate.exit_code,
        (*first, *loss_blocks(gate.losses)),
        (*behind, *steadiness_blocks(gate.steadiness), *(Paragraph(hint, "quiet") for hint in gate.hints)),
    )


def error_page(error: AssayError) -> Page:
    """Show why there is no verdict."""
    why = (Paragraph(_NO_VERDICT), Code(tame(str(error))[:_ERROR]))
    return Page(VERDICTS.get(error.exit_code, VERDICTS[4]), error.exit_code, why)


_NO_VERDICT = "There is no verdict; this is why:"


def _sentence(gate: Gate) -> str:
    """Say the verdict in a sentence."""
    failed = [check for check in gate.checks if not check.passed and check.exit_code == gate.exit_code]
    if gate.exit_code == 1:
        return " ".join([*_regressions(gate), *(_missed(check) for check in failed if check.kind == "floor")])
    if failed:
        return f"{_REASONS[gate.exit_code]}: {'; '.join(check.what for check in failed)}."
    doubtful = [check.what for check in gate.checks if check.doubtful]
    if doubtful:
        return f"Inconclusive, so it passes (--strict would stop it): {'; '.join(doubtful)}."
    return "Nothing that was checked got worse."


def _missed(check: Check) -> str:
    side = "Above" if check.what.rsplit(" ", 2)[1].startswith("<") else "Below"
    return f"{side} threshold: {check.what}: {check.detail}."


def _regressions(gate: Gate) -> list[str]:
    """Describe the significant regressions, a sentence for each engine."""
    return [
        f"Significant regression: {row.measure} of {row.engine} is {row.mean:.3f}, of {row.baseline} "
        f"{row.baseline_mean:.3f}; of {count(row.queries, 'query', 'queries')} {row.losses} got worse, "
        f"{row.wins} better."
        for row in gate.regressions
    ]


_REASONS = {
    DOUBT: "Inconclusive, which fails under --strict",
    4: "Engines failed, so their scores are not comparable",
    5: "Not everything can be compared",
}


def to_summary(document: Document, limit: int) -> str:
    """Write a document of another command for the job summary."""
    title = block_markdown(Heading(document.title), _LEVEL)
    return f"{title}\n\n{_fitted(document.blocks, limit - _size(title) - 2, CUT)}"


#: What is said where a summary ends before its time.
CUT = "*Cut here: GitHub takes no longer summary. `--json` has everything.*"


def to_github(page: Page, limit: int, footer: str, rest: str) -> str:
    """Write a page in at most `limit` bytes; `rest` says where the rest is, should it be cut."""
    title = f"{'#' * _LEVEL} {_sign(page)} assay gate: {page.verdict}"
    room = limit - _size(title) - _size(footer) - _size(_FOLD.format("")) - 10
    first = _fitted(page.first, room, rest)
    folded = ""
    if page.behind and room - _size(first) > _size(rest) * 2:
        folded = _FOLD.format(_fitted(page.behind, room - _size(first), rest))
    return "\n\n".join(part for part in (title, first, folded, footer) if part) + "\n"


def _sign(page: Page) -> str:
    """Choose the sign; what stops a job has failed, whatever the word for it is."""
    if page.exit_code:
        return _FAILED
    return _PASSED if page.verdict == VERDICTS[0] else _DOUBTED


_FOLD = "<details><summary>What is behind it</summary>\n\n{}\n\n</details>"


def _size(text: str) -> int:
    """Count bytes."""
    return len(text.encode("utf-8"))


def _fitted(blocks: Sequence[Block], room: int, rest: str) -> str:
    """Write blocks while they fit; a table is cut between rows, and that something was cut is said."""
    kept: list[str] = []
    left = room - _size(rest) - 4
    for block in blocks:
        text = block_markdown(block, _LEVEL + 1)
        if _size(text) > left:
            part = _cut(block, left) if isinstance(block, Table) else ""
            return "\n\n".join([*kept, *([part] if part else []), rest])
        left -= _size(text) + 2
        kept += [text] if text else []
    return "\n\n".join(kept)


def _cut(block: Table, room: int) -> str:
    """Keep as many rows of a table as fit; nothing where not even one does."""
    low, high = 0, len(block.rows)
    while low < high:
        middle = (low + high + 1) // 2
        shorter = replace(block, rows=block.rows[:middle], note="")
        low, high = (middle, high) if _size(block_markdown(shorter)) <= room else (low, middle - 1)
    return block_markdown(replace(block, rows=block.rows[:low], note="")) if low else ""

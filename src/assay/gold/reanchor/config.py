from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReanchorConfig:
    """Thresholds and limits for matching old and new code. Likeness is `Fingerprint.similarity`, from 0 to 1."""

    #: Minimum percentage of a file that is left after a rename or copy. Git's default of 50 misses files that were
    #: split; a low value is harmless, since the lines are compared afterwards.
    rename_percent: int = 30
    rename_limit: int = 5_000  # files compared as renames; with more, Git skips the comparison (default: 1,000)
    #: Minimum likeness of a range found by name, or by unchanged lines, for the confidence `sure`.
    #: Unrelated functions of one program reach 0.2 to 0.35.
    sure: float = 0.5
    named: float = 0.2  # share of the old lines and words in such a range; below it, only the name is left
    moved: float = 0.35  # likeness of an equally named definition in another scope or file: many are named `new`
    title: float = 0.3  # bonus of a renamed definition, times the similarity of the names
    neighbor: float = 0.15  # bonus of a renamed definition for each adjacent one with the same name
    renamed: float = 0.4  # likeness of a renamed definition without the bonus ...
    renamed_sum: float = 0.55  # ... and with it
    section: float = 0.05  # likeness of a retitled section, whose text is rewritten more freely, without the bonus ...
    section_sum: float = 0.45  # ... and with it
    retitled: float = 0.25  # likeness of a section without a common word in the title
    renamed_sure: float = 0.6  # likeness from which a renamed definition is `sure`
    scattered: float = 0.5  # likeness of a range with only some of the lines, for the confidence `low` ...
    scattered_sure: float = 0.75  # ... and for `sure`
    #: Bonus for names and unchanged lines when ranges are compared. It is limited because bodies move out of
    #: functions that stay as one-line wrappers.
    better: float = 0.25
    #: A section is placed on the unchanged lines, not on the whole new section, if that adds this much likeness ...
    closer: float = 0.15
    #: ... and at least this share of the old text remains: a heading was removed, so the section absorbed the next one.
    held: float = 0.9
    split_off: float = 0.05  # share of the old text that an adjacent new definition must add to be included
    distinctive: int = 60  # characters that a text needs to be searched for: shorter texts are found everywhere
    slack: int = 3  # lines of comments, blanks and brackets between the edges of a range and a definition
    shrunk: float = 0.34  # share of its old length below which a range is not `sure`: two of three lines are elsewhere
    grown: float = 3.0  # a range longer than this many times the old one, plus `grown_lines`, includes other code
    grown_lines: int = 30
    like_line: float = 0.7  # minimum difflib ratio of an edited line; with one of four words renamed it is about that
    common: int = 8  # maximum occurrences of a line that counts as evidence; `return None` is everywhere
    listed: int = 3  # candidates for a lost target
    candidate: float = 0.2  # likeness from which a candidate is listed
    indexed: int = 50_000  # definitions compared by words; ten times that takes a minute and a gigabyte
    compared: int = 4_000_000  # pairs of lines compared where no line is unique; long tables take minutes otherwise
    file_bytes: int = 1_000_000  # maximum file size; larger files are generated


DEFAULT = ReanchorConfig()

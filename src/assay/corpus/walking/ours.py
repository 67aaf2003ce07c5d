"""What Assay itself wrote: a report of the last measurement is no part of what the next one is about.

Only the names and the first bytes are looked at. Folders of results have an .assayignore; these are the files that
people have written elsewhere: a report, a baseline, what `--json` printed.
"""

from __future__ import annotations

import re
from typing import Final

#: How a page says who made it (browser/shell.py), which stands behind the character set and before anything else.
_PAGE: Final = re.compile(
    rb'<!doctype html>\s*<html[^>]*>\s*<head>\s*<meta charset="utf-8">\s*<meta name="generator" content="Assay">'
)
#: How every JSON of ours begins, on one line or on several.
_DATA: Final = re.compile(rb'\s*\{\s*"schema":\s*"assay/[a-z-]+/\d+"')


def written_by_assay(real: str, head: bytes) -> str | None:
    """Say why a file counts as Assay's own, by its name and its first bytes; None for anybody else's."""
    if real.endswith(".html"):
        return "a page that Assay made" if _PAGE.match(head) else None
    if not real.endswith(".json"):
        return None
    if not head:
        # `assay run --json > made.json`: the shell makes the file before anything is in it
        return "empty, as a file is that the output of a command goes to"
    return "JSON that Assay wrote" if _DATA.match(head) else None

"""Run the documentation: the blocks of a page as they stand, one after the other, once a session.

A page is Markdown. Its `sh` blocks are commands and its `python` blocks programs; both run in the page's own folder, in
the order of the page. Comments in the source say what a reader need not see:

    <!-- not run: it needs a GPU -->     right above a block that nobody runs, with the reason
    <!-- needs pypi:flask==3.1.0 -->     a corpus without which the page cannot run: the test skips and says so
    <!-- in pypi:flask==3.1.0 -->        the page begins in a copy of that corpus: "your repository"
    <!-- files write-gold/*.csv -->      files beside the page that the reader is told to copy
    <!-- after quick-start.md -->        the page begins with what another page left

All pages share one cache.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from assay.corpus import open_corpus, parse_spec
from assay.errors import SetupError

DOCS = Path(__file__).parents[2] / "docs"
#: The languages of a block; each is checked in its own way, so that one nobody checks cannot slip in.
LANGUAGES = ("sh", "python", "toml", "yaml", "json", "text")
RUN = ("sh", "python")
NOT_RUN = "not run:"
PATIENCE = 1800  # seconds; reached only by a page that hangs, however busy the machine is

_FENCE = re.compile(r"(?:^<!-- (?P<note>[^\n]*?) -->\n\n?)?^```(?P<language>[^\n]*)\n(?P<text>.*?)^```$", re.M | re.S)
_SAID = re.compile(r"^<!-- (needs|in|files|after) ([^\n]*?) -->$", re.M)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block, and what the comment right above it says."""

    page: str
    line: int
    language: str
    text: str
    note: str

    @property
    def runs(self) -> bool:
        """Whether the test of the page runs it."""
        return self.language in RUN and not self.note.startswith(NOT_RUN)


@dataclass(frozen=True, slots=True)
class Ran:
    """Where a page ran, and what its commands said."""

    work: Path
    said: str


def pages() -> list[str]:
    """List every page of the site, from the folder of the documentation."""
    return sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


@cache
def blocks(page: str) -> tuple[Block, ...]:
    """Give the blocks of a page."""
    text = (DOCS / page).read_text("utf-8")
    return tuple(
        Block(
            page,
            text.count("\n", 0, found.start("language")) + 1,
            found["language"],
            found["text"],
            found["note"] or "",
        )
        for found in _FENCE.finditer(text)
    )


def runnable() -> list[str]:
    """List the pages with anything to run."""
    return [page for page in pages() if any(block.runs for block in blocks(page))]


def run_page(page: str, factory: pytest.TempPathFactory) -> Ran:
    """Run a page, or take what it left when a test of this session has run it; skip where what it needs is missing."""
    shared = _shared(factory)
    with _alone(shared / f"{_slug(page)}.lock"):
        said, work = shared / f"{_slug(page)}.said", shared / _slug(page) / "work"
        if not said.exists():
            _begin(page, work, factory)
            said.write_text(_run(page, work, shared), "utf-8")
    text = said.read_text("utf-8")
    assert not text.startswith("FAILED"), text
    return Ran(work, text)


def _shared(factory: pytest.TempPathFactory) -> Path:
    """Give the folder that all workers of a session share."""
    base = factory.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "pages"
    folder.mkdir(exist_ok=True)
    return folder


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other workers out."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _slug(page: str) -> str:
    """Make one name of a path."""
    return page.removesuffix(".md").replace("/", "-")


def _begin(page: str, work: Path, factory: pytest.TempPathFactory) -> None:
    """Make the folder that a page begins in."""
    said = _SAID.findall((DOCS / page).read_text("utf-8"))
    for what, value in said:
        if what == "after":
            shutil.copytree(run_page(value, factory).work, work, symlinks=True)
        elif what in ("needs", "in"):
            root = _corpus(page, value, _shared(factory) / "cache")
            if what == "in":
                shutil.copytree(root, work)
    work.mkdir(parents=True, exist_ok=True)
    for what, value in said:
        for source in sorted((DOCS / page).parent.glob(value)) if what == "files" else ():
            shutil.copy(source, work)


def _corpus(page: str, spec: str, kept: Path) -> Path:
    """Open a corpus, or skip and say why."""
    try:
        return open_corpus(parse_spec(spec), cache=kept).root
    except SetupError as error:
        pytest.skip(f"docs/{page} was NOT run: {error}")


def _run(page: str, work: Path, shared: Path) -> str:
    """Run the blocks in one shell and give what they said; what failed is said too."""
    environment = {
        **os.environ,
        "PATH": f"{_commands(work.parent)}:{os.environ['PATH']}",
        "ASSAY_CACHE_DIR": str(shared / "cache"),
        "COLUMNS": "100",
        "OMP_NUM_THREADS": "1",  # threads that wait for each other cost more than they bring on so small corpora
        "OPENBLAS_NUM_THREADS": "1",
    }
    script = "\n".join(_script(block) for block in blocks(page) if block.runs)
    done = subprocess.run(
        ["sh", "-e", "-c", script],
        cwd=work,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    return done.stdout if done.returncode == 0 else f"FAILED with {done.returncode}\n{done.stdout}\n{done.stderr}"


def _script(block: Block) -> str:
    """Write a block as a shell would run it."""
    return block.text if block.language == "sh" else f"python3 - <<'END_OF_PROGRAM'\n{block.text}END_OF_PROGRAM"


def _commands(folder: Path) -> Path:
    """Make the programs that a reader has: `assay`, and Python with it."""
    commands = folder / "bin"
    commands.mkdir(exist_ok=True)
    for name, arguments in {"assay": " -m assay", "python3": ""}.items():
        command = commands / name
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}"{arguments} "$@"\n')
        command.chmod(0o755)
    return commands

"""A small repository of our own, in three languages, to make gold sets of."""

from pathlib import Path

import pytest

from assay.corpus import open_corpus
from assay.types import Corpus, CorpusSpec

POOL = '''\
"""Everything about pools."""


class Pool:
    """Hand out open connections and take them back."""

    def acquire(self, seconds):
        """Wait until a free connection turns up, at most so many seconds.

        Args:
            seconds: patience
        """
        # TODO: fairness between the callers that wait here
        return self.free.pop()

    def release(self, connection):
        # Release gives the connection back to those who wait.
        self.free.append(connection)
        return None


@traced
def drain(pool):
    # Close every idle connection before the process stops.
    # Nothing else is closed.
    """Say something shorter."""
    while pool.free:
        pool.acquire(0)


def helper():
    """Copyright 2020 by somebody who wrote this file."""
    first = 1
    return first
'''

RETRY = """\
package net

// Backoff returns how long a caller waits before the next attempt.
// It doubles each time.
func Backoff(attempt int) int {
\treturn 1 << attempt
}

/*
 * Decides whether a failed request is worth another attempt.
 */
func retryable(code int) bool {
\treturn code >= 500
}

const limit = 3
"""

VIEW = """\
/** Draws the given rows as an indented tree of labels. */
export function render(rows: Row[]): string {
  const lines = rows.map(String);
  return lines.join("\\n");
}

export const helper = () => {
  return 2;
};
"""

TEST = '''\
def check_everything():
    """Look at every single thing that this project promises."""
    assert True
    return 1
'''


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Write the files."""
    root = tmp_path / "shop"
    texts = {"src/pool.py": POOL, "net/retry.go": RETRY, "web/view.ts": VIEW, "tests/test_all.py": TEST}
    for path, text in {**texts, "README.md": "# Shop\n\nPools and attempts.\n", "Makefile": "all:\n"}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def corpus(repository: Path) -> Corpus:
    """Open the files as a corpus."""
    return open_corpus(CorpusSpec("path", str(repository)))

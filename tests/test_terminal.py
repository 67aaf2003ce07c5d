"""What is known of a screen: width, colour, and the signs it can show."""

import io

import pytest

from assay.terminal import Terminal, detect_terminal


class Tty(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def _plain(monkeypatch):
    for name in ("NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def test_terminal_has_colour_unless_somebody_says_otherwise(monkeypatch):
    assert detect_terminal(Tty(), 100).color
    monkeypatch.setenv("NO_COLOR", "")
    assert detect_terminal(Tty(), 100).color  # an empty one says nothing: no-color.org
    monkeypatch.setenv("NO_COLOR", "1")
    assert not detect_terminal(Tty(), 100).color


@pytest.mark.parametrize("term", ["dumb", "unknown", "DUMB"])
def test_terminal_that_can_do_nothing_gets_no_colour(monkeypatch, term):
    monkeypatch.setenv("TERM", term)
    assert not detect_terminal(Tty(), 100).color


def test_pipe_has_its_own_width_and_no_colour(monkeypatch):
    assert detect_terminal(io.StringIO(), 123) == Terminal(123)
    monkeypatch.setenv("COLUMNS", "50")
    assert detect_terminal(io.StringIO(), 123) == Terminal(50)


def test_width_is_never_absurd(monkeypatch):
    monkeypatch.setenv("COLUMNS", "3")
    assert detect_terminal(io.StringIO(), 123).width == 20


@pytest.mark.parametrize(("encoding", "drawn"), [("utf-8", True), ("ascii", False), ("latin-1", False), ("x", False)])
def test_what_cannot_be_encoded_is_drawn_in_ascii(encoding, drawn):
    stream = Tty()
    stream.encoding = encoding
    terminal = detect_terminal(stream, 100)
    assert terminal.unicode is drawn
    assert terminal.format("█▁·─●┊ ✓ ↑2 …") == ("█▁·─●┊ ✓ ↑2 …" if drawn else "#_.-o: + ^2 ~")


def test_lines_end_with_their_last_word():
    assert Terminal(80).format("a  \nb\t\n\nc") == "a\nb\n\nc"

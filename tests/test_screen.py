"""What is known of a screen: width, colour, and the signs it can show."""

import io

import pytest

from assay.screen import Screen, screen_of


class Terminal(io.StringIO):
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
    assert screen_of(Terminal(), 100).colour
    monkeypatch.setenv("NO_COLOR", "")
    assert screen_of(Terminal(), 100).colour  # an empty one says nothing: no-color.org
    monkeypatch.setenv("NO_COLOR", "1")
    assert not screen_of(Terminal(), 100).colour


@pytest.mark.parametrize("term", ["dumb", "unknown", "DUMB"])
def test_terminal_that_can_do_nothing_gets_no_colour(monkeypatch, term):
    monkeypatch.setenv("TERM", term)
    assert not screen_of(Terminal(), 100).colour


def test_pipe_has_its_own_width_and_no_colour(monkeypatch):
    assert screen_of(io.StringIO(), 123) == Screen(123)
    monkeypatch.setenv("COLUMNS", "50")
    assert screen_of(io.StringIO(), 123) == Screen(50)


def test_width_is_never_absurd(monkeypatch):
    monkeypatch.setenv("COLUMNS", "3")
    assert screen_of(io.StringIO(), 123).width == 20


@pytest.mark.parametrize(("encoding", "drawn"), [("utf-8", True), ("ascii", False), ("latin-1", False), ("x", False)])
def test_what_cannot_be_encoded_is_drawn_in_ascii(encoding, drawn):
    stream = Terminal()
    stream.encoding = encoding
    screen = screen_of(stream, 100)
    assert screen.drawn is drawn
    assert screen.written("█▁·─●┊ ✓ ↑2 …") == ("█▁·─●┊ ✓ ↑2 …" if drawn else "#_.-o: + ^2 ~")


def test_lines_end_with_their_last_word():
    assert Screen(80).written("a  \nb\t\n\nc") == "a\nb\n\nc"

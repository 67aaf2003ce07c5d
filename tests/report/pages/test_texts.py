"""What others wrote is shown, and steers nothing."""

from hypothesis import given
from hypothesis import strategies as st

from assay.report.render.formatting import clip, escape_commands, repository_names, shape, strip_control


def test_terminal_sequences_are_taken_out():
    hostile = "\x1b[31mred\x1b[0m \x1b]0;title\x07a \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x1b[2J\x1bcb \x9b1mc"
    assert strip_control(hostile) == "red a link b c"


def test_progress_becomes_lines_and_controls_become_visible():
    assert strip_control("10%\r20%\r\ndone\x07\x00\x7f") == "10%\n20%\ndone\ufffd\ufffd\ufffd"


def test_direction_of_writing_cannot_be_turned():
    assert strip_control("a\u202eexe.py\u2066") == "a\ufffdexe.py\ufffd"


def test_half_a_character_is_shown_as_missing():
    assert strip_control("\ud800x").encode("utf-8") == "\ufffdx".encode()


def test_no_line_of_a_log_is_a_command_to_the_runner():
    assert escape_commands("a::b ##[add-mask]x") == "a::b ##\u2060[add-mask]x"
    assert escape_commands("::error::x\n  ::debug::y\r::z") == ":\u2060:error::x\n  :\u2060:debug::y\r:\u2060:z"


@given(st.text())
def test_tamed_text_has_no_control_and_stays_as_it_is(text):
    once = strip_control(text)
    assert strip_control(once) == once
    assert not [c for c in once if (c < " " and c not in "\n\t") or c == "\x7f"]


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Cf", "Zl", "Zp"])))
def test_text_without_controls_is_left_alone(text):
    assert strip_control(text) == text


def test_long_text_is_clipped_to_one_line_and_says_so():
    assert clip("a\n b\tc", 10) == "a b c"
    assert clip("x" * 12, 10) == "x" * 10 + "… (2 more characters)"
    assert clip("y" * 1_000_000, 10) == "y" * 10 + "… (999,990 more characters)"


def test_messages_that_differ_in_numbers_and_quotes_have_one_shape():
    assert shape("HTTP 500 after 1.25 s: 'abc'") == shape("HTTP 503 after 60 s: 'x y'")
    assert shape("HTTP 500") != shape("no answer")


def test_folders_are_named_by_their_name_unless_two_share_it():
    alone = repository_names(["path:click-e55115", "github:pallets/click", "path:odd"])
    assert alone == {
        "path:click-e55115": "click",
        "github:pallets/click": "github:pallets/click",
        "path:odd": "path:odd",
    }
    both = repository_names(["path:click-e55115", "path:click-0a1b2c", "path:a-b-0a1b2c"])
    assert sorted(both.values()) == ["a-b", "click-0a1b2c", "click-e55115"]

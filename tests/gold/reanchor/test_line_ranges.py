"""Moves of line ranges."""

import pytest

from tests.gold.reanchor.history import function, module, move, outcome

OLD = {"a.py": module("alpha", "beta", "gamma")}  # beta is lines 9-14


def test_unchanged_lines_stay(tmp_path):
    assert outcome(move(tmp_path, OLD, OLD, "a.py:9-14")) == ("a.py:9-14", "unchanged")
    other = {"a.py": OLD["a.py"], "b.py": "x = 1\n"}
    assert outcome(move(tmp_path / "2", OLD, other, "a.py:9-14")) == ("a.py:9-14", "unchanged")


def test_an_edit_below_changes_nothing_above(tmp_path):
    new = {"a.py": OLD["a.py"].replace("gamma_helper(2)", "gamma_helper(22)")}
    assert outcome(move(tmp_path, OLD, new, "a.py:9-14")) == ("a.py:9-14", "unchanged")


def test_lines_above_move_a_range_exactly(tmp_path):
    new = {"a.py": "import os\nimport sys\n" + OLD["a.py"]}
    assert outcome(move(tmp_path, OLD, new, "a.py:9-14")) == ("a.py:11-16", "exact")


def test_a_reordered_function_is_moved_exactly(tmp_path):
    new = {"a.py": module("gamma", "alpha", "beta")}
    for anchor, wanted in (("a.py:9-14", "a.py:17-22"), ("a.py:17-22", "a.py:1-6"), ("a.py:10-12", "a.py:18-20")):
        assert outcome(move(tmp_path / wanted, OLD, new, anchor)) == (wanted, "exact")


def test_a_renamed_file_is_followed(tmp_path):
    new = {"lib/b.py": OLD["a.py"] + "\n\nEND = 1\n"}
    assert outcome(move(tmp_path, OLD, new, "a.py:9-14")) == ("lib/b.py:9-14", "exact")


def test_a_function_that_moved_to_another_file_is_found(tmp_path):
    old = {"a.py": module("alpha", "beta"), "b.py": module("delta", "epsilon")}
    new = {"a.py": module("alpha"), "b.py": module("delta", "beta", "epsilon")}
    done = move(tmp_path, old, new, "a.py:9-14")
    assert outcome(done) == ("b.py:9-14", "exact")


def test_a_moved_and_edited_function_is_found_by_its_name(tmp_path):
    old = {"a.py": module("alpha", "beta"), "b.py": module("delta", "epsilon")}
    beta = function("beta").replace("beta_helper(2)", "beta_helper(2, 3)")
    new = {"a.py": module("alpha"), "b.py": "\n\n".join((function("delta"), beta, function("epsilon")))}
    done = move(tmp_path, old, new, "a.py:9-14")
    assert outcome(done) == ("b.py:9-14", "sure")
    assert done.reason == "same name in another file"


def test_a_whole_function_follows_its_new_end(tmp_path):
    longer = OLD["a.py"].replace(
        "    return beta_result(value)\n", "    more = 1\n    again = 2\n    return beta(more)\n"
    )
    assert outcome(move(tmp_path, OLD, {"a.py": longer}, "a.py:9-14")) == ("a.py:9-16", "sure")


def test_a_range_that_leaves_the_comments_out_leaves_them_out_again(tmp_path):
    old = {"a.rs": "/// Counts.\nfn count() -> u8 {\n    let first = one();\n    first\n}\n"}
    new = {
        "a.rs": "use x;\n\n/// Counts things.\n/// Slowly.\nfn count(z: u8) -> u8 {\n    let first = one();\n"
        "    first\n}\n"
    }
    assert outcome(move(tmp_path / "1", old, new, "a.rs:2-5")) == ("a.rs:5-8", "sure")
    assert outcome(move(tmp_path / "2", old, new, "a.rs:1-5")) == ("a.rs:3-8", "sure")


def test_lines_inside_a_function_follow_the_lines_that_stayed(tmp_path):
    text = OLD["a.py"].replace("    step_1 = beta_helper(1)\n", "    new = 1\n    step_1 = beta_helper(1, new)\n")
    done = move(tmp_path, OLD, {"a.py": "import os\n" + text}, "a.py:10-12")
    assert outcome(done) == ("a.py:11-14", "sure")


def test_a_renamed_function_is_found_by_what_it_says(tmp_path):
    new = {"a.py": OLD["a.py"].replace("def beta(", "def beta_of(").replace("beta_helper(1)", "beta_helper(11)")}
    done = move(tmp_path, OLD, {"a.py": "import os\n\n\n" + new["a.py"]}, "a.py:9-14")
    assert outcome(done) == ("a.py:12-17", "sure")
    assert done.reason == "renamed to beta_of"


def test_a_body_that_was_split_up_is_taken_together(tmp_path):
    body = [f"{word} = {word}_of(value)" for word in ("first", "second", "third", "fourth", "fifth", "sixth")]
    old = {"a.py": "\n\n".join((function("alpha"), function("beta", *body)))}
    halves = (function("beta", *body[:3]), function("beta_rest", *body[3:]))
    done = move(tmp_path, old, {"a.py": "\n\n".join((function("alpha"), *halves))}, "a.py:9-16")
    assert outcome(done) == ("a.py:9-20", "sure")


def test_what_was_deleted_is_lost(tmp_path):
    done = move(tmp_path, OLD, {"a.py": module("alpha", "gamma")}, "a.py:9-14")
    assert outcome(done) == (None, "lost")
    done = move(tmp_path / "2", OLD, {"b.txt": "nothing like it\n"}, "a.py:9-14")
    assert outcome(done) == (None, "lost")


def test_a_name_that_was_given_to_something_else_is_lost_with_a_candidate(tmp_path):
    long = function("beta", *(f"part_{n} = beta_of(first={n}, second=part_{n - 1})" for n in range(12)))
    old = {"a.py": "\n\n".join((function("alpha"), long, function("gamma")))}
    wrapper = "def beta(value):\n    return other.thing(value)\n"
    done = move(tmp_path, old, {"a.py": "\n\n".join((function("alpha"), wrapper, function("gamma")))}, "a.py:9-22")
    assert outcome(done) == (None, "lost")
    assert str(done.candidates[0].span) == "a.py:9-10"


def test_lines_that_went_out_of_a_function_are_lost_with_the_function_as_candidate(tmp_path):
    without = OLD["a.py"].replace("    step_1 = beta_helper(1)\n    step_2 = beta_helper(2)\n", "")
    done = move(tmp_path, OLD, {"a.py": without}, "a.py:11-12")
    assert outcome(done) == (None, "lost")
    assert [(str(one.span), one.reason) for one in done.candidates] == [("a.py:9-12", "enclosing definition")]


def test_a_tree_that_moved_and_was_rewritten_is_known_by_its_names(tmp_path):
    old = {"pkg/a.py": module("alpha", "beta"), "pkg/b.py": "x = 1\n", "docs/use.rst": "Use\n===\n\nOpen it.\n"}
    other = "".join(f"line_{n} = made_for_nothing({n})\n" for n in range(80))
    beta = function("beta").replace("beta_helper(0)", "beta_helper(0, 1)")
    new = {"src/pkg/a.py": other + beta, "docs/use.md": "# Use\n\nJust open it.\n", "src/other/a.py": other}
    assert outcome(move(tmp_path / "1", old, new, "pkg/a.py:9-14")) == ("src/pkg/a.py:81-86", "sure")
    assert outcome(move(tmp_path / "3", old, new, "pkg/a.py:12-13")) == ("src/pkg/a.py:84-85", "exact")
    assert outcome(move(tmp_path / "4", old, new, "pkg/a.py"))[0] == "src/pkg/a.py"
    assert outcome(move(tmp_path / "2", old, new, "docs/use.rst:1-4"))[0] == "docs/use.md:1-3"


def test_titles_keep_their_numbers_but_for_those_of_steps(tmp_path):
    versions = [f"## Version {n}.0\n\n- It did thing {n}.\n- And more.\n\n" for n in (3, 2, 1)]
    old = {"a.md": "# Changes\n\n" + "".join(versions)}
    new = {"a.md": "# Changes\n\n## Version 4.0\n\n- New.\n\n" + "".join(versions).replace("And more", "And even more")}
    assert outcome(move(tmp_path / "1", old, new, "a.md:8-11")) == ("a.md:12-15", "sure")
    steps = {"a.md": "# Start\n\n## 1. Install it\n\nRun this.\n\n## 2. Open it\n\nOpen that.\nThen look.\n"}
    more = {"a.md": steps["a.md"].replace("## 2. Open", "## 2. Wait\n\nNow.\n\n## 3. Open").replace("Then", "And")}
    assert outcome(move(tmp_path / "2", steps, more, "a.md:7-10")) == ("a.md:11-14", "sure")


def test_an_unrelated_function_in_its_place_is_not_taken_for_it(tmp_path):
    done = move(tmp_path, OLD, {"a.py": module("alpha", "delta", "gamma")}, "a.py:9-14")
    assert outcome(done) == (None, "lost")


def test_a_range_over_two_functions_holds_both_again(tmp_path):
    edited = module("alpha", "beta", "gamma").replace("beta_helper(3)", "beta_helper(33)")
    new = {"a.py": "import os\n" + edited.replace("gamma_helper(0)", "gamma_helper(9)")}
    assert outcome(move(tmp_path, OLD, new, "a.py:9-22")) == ("a.py:10-23", "sure")


def test_a_range_over_two_functions_ends_where_the_second_ends(tmp_path):
    longer = OLD["a.py"].replace("    return gamma_result(value)\n", "    for more in value:\n        use(more)\n" * 6)
    new = {"a.py": longer.replace("beta_helper(3)", "beta_helper(33)") + "\n\nEND = 1\n"}
    assert outcome(move(tmp_path, OLD, new, "a.py:9-22")) == ("a.py:9-33", "sure")


DOCS = {
    "a.md": "# Guide\n\n## Install\n\nRun the setup.\nThen wait.\n\n"
    "## Use it (2 minutes)\n\nOpen the thing.\nLook around.\n\n"
    "## Help\n\nAsk somebody.\n"
}


def test_a_section_follows_its_heading(tmp_path):
    new = {
        "a.md": DOCS["a.md"]
        .replace("Then wait.", "Then wait a little.\nAnd go on.")
        .replace("# Guide\n", "# Guide\n\nNew.\n")
    }
    assert outcome(move(tmp_path, DOCS, new, "a.md:3-6")) == ("a.md:5-9", "sure")


def test_a_retitled_section_is_known_by_its_neighbours_and_words(tmp_path):
    new = {"a.md": DOCS["a.md"].replace("Use it (2 minutes)", "How to use it").replace("Look around.", "Behold it.")}
    done = move(tmp_path, DOCS, {"a.md": "Hello.\n\n" + new["a.md"]}, "a.md:8-11")
    assert done.new is not None
    assert (done.new.anchor, done.reason) == ("a.md:10-13", "renamed to guide > how to use it")


def test_a_section_whose_next_heading_went_keeps_to_its_own_text(tmp_path):
    new = {"a.md": DOCS["a.md"].replace("## Use it (2 minutes)\n", "").replace("Run the setup.", "Run the set-up.")}
    assert outcome(move(tmp_path, DOCS, new, "a.md:3-6"))[0] == "a.md:3-6"


def test_generic_lines_are_no_evidence(tmp_path):
    tool = "### {0}\n\nIt does {0}.\n\n**Parameters:**\n- `path`: where\n\n**Example:**\n\n"
    old = {"a.md": "# Tools\n\n" + "".join(tool.format(name) for name in ("read", "write", "move"))}
    new = {"a.md": "# Tools\n\n" + "".join(tool.format(name) for name in ("read", "list"))}
    for anchor in ("a.md:19-26", "a.md:21-28", "a.md:25-28"):
        assert outcome(move(tmp_path / anchor, old, new, anchor)) == (None, "lost")


@pytest.mark.parametrize("anchor", ["gone.py:1-2", "a.py:1-999", "a.py:1-2#000000000000"])
def test_an_anchor_that_never_held_is_lost(tmp_path, anchor):
    assert outcome(move(tmp_path, OLD, OLD, anchor)) == (None, "lost")


def test_a_content_hash_finds_its_lines_before_they_are_moved(tmp_path):
    from assay.gold.anchors import content_digest

    digest = content_digest(OLD["a.py"].split("\n")[8:14])
    new = {"a.py": "import os\n" + OLD["a.py"]}
    assert outcome(move(tmp_path, OLD, new, f"a.py:2-7#{digest}")) == (f"a.py:10-15#{digest}", "exact")


def test_odd_files_are_no_trouble(tmp_path):
    old = {
        "a.bin": "\0\1\2\n" * 3,
        "empty.py": "",
        "crlf.py": OLD["a.py"].replace("\n", "\r\n"),
        "naïve dir/ü.py": "x = 1\n",
    }
    new = {"a.bin": "\0\1\3\n" * 4, "empty.py": "y = 1\n", "crlf.py": OLD["a.py"], "naïve dir/ü.py": "\nx = 1\n"}
    assert outcome(move(tmp_path / "1", old, new, "crlf.py:9-14")) == ("crlf.py:9-14", "unchanged")
    assert outcome(move(tmp_path / "2", old, new, "naïve dir/ü.py:1-1")) == ("naïve dir/ü.py:2-2", "exact")
    assert move(tmp_path / "3", old, new, "a.bin:1-2").confidence in ("low", "lost")

"""Moves of symbols and whole files."""

from tests.gold.reanchor.history import function, module, move, outcome

OLD = {"a.py": module("alpha", "beta")}


def test_a_symbol_that_is_still_there_stays(tmp_path):
    new = {"a.py": "import os\n" + OLD["a.py"]}
    assert outcome(move(tmp_path, OLD, new, "a.py::beta")) == ("a.py::beta", "unchanged")
    new = {"a.py": OLD["a.py"].replace("beta_helper(1)", "beta_helper(1, 2)")}
    assert outcome(move(tmp_path / "2", OLD, new, "a.py::beta")) == ("a.py::beta", "sure")


def test_a_symbol_with_only_its_name_left_has_low_confidence(tmp_path):
    new = {"a.py": "\n\n".join((function("alpha"), "def beta():\n    return 1\n"))}
    assert outcome(move(tmp_path, OLD, new, "a.py::beta")) == ("a.py::beta", "low")


def test_a_symbol_follows_its_definition(tmp_path):
    renamed = {"a.py": OLD["a.py"].replace("def beta(", "def beta_of(")}
    assert outcome(move(tmp_path / "1", OLD, renamed, "a.py::beta")) == ("a.py::beta_of", "sure")
    file = {"b.py": OLD["a.py"]}
    assert outcome(move(tmp_path / "2", OLD, file, "a.py::beta")) == ("b.py::beta", "exact")
    away = {"a.py": module("alpha"), "b.py": module("delta", "beta")}
    assert outcome(move(tmp_path / "3", OLD, away, "a.py::beta")) == ("b.py::beta", "exact")


def test_a_number_follows_the_definition_it_stood_for(tmp_path):
    first, second = (
        function("f", "one = first(1)", "two = first(2)"),
        function("f", "three = last(3)", "four = last(4)"),
    )
    old, new = {"a.py": first + second}, {"a.py": second + first}
    assert outcome(move(tmp_path / "1", old, new, "a.py::f~2")) == ("a.py::f", "exact")
    assert outcome(move(tmp_path / "2", old, new, "a.py::f")) == ("a.py::f~2", "exact")
    assert outcome(move(tmp_path / "3", old, old, "a.py::f~2")) == ("a.py::f~2", "unchanged")


def test_equal_definitions_keep_their_numbers(tmp_path):
    old = {"a.py": function("f") + function("f")}
    assert outcome(move(tmp_path, old, old, "a.py::f~2")) == ("a.py::f~2", "unchanged")


def test_a_symbol_that_is_gone_is_lost(tmp_path):
    assert outcome(move(tmp_path, OLD, {"a.py": module("alpha")}, "a.py::beta")) == (None, "lost")
    assert outcome(move(tmp_path / "2", OLD, OLD, "a.py::gamma")) == (None, "lost")


def test_a_file_stays_or_is_followed(tmp_path):
    assert outcome(move(tmp_path / "1", OLD, OLD, "a.py")) == ("a.py", "unchanged")
    edited = {"a.py": OLD["a.py"] + "\nEND = 1\n"}
    assert outcome(move(tmp_path / "2", OLD, edited, "a.py")) == ("a.py", "sure")
    assert outcome(move(tmp_path / "3", OLD, {"x/b.py": OLD["a.py"]}, "a.py")) == ("x/b.py", "exact")
    assert outcome(move(tmp_path / "4", OLD, {"x/b.py": edited["a.py"]}, "a.py")) == ("x/b.py", "sure")
    assert outcome(move(tmp_path / "5", OLD, {"a.py": "something = 'else'\n"}, "a.py")) == ("a.py", "low")


def test_a_lost_file_has_candidates_of_its_name(tmp_path):
    old = {
        "a/util.py": module("alpha", "beta", "gamma", "delta"),
        "b/util.py": module("one", "two") + function("alpha"),
    }
    done = move(tmp_path, old, {"b/util.py": old["b/util.py"]}, "a/util.py")
    assert outcome(done) == (None, "lost")
    assert [str(one.span) for one in done.candidates] == ["b/util.py"]

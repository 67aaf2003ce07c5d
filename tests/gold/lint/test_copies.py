import pytest

from tests.gold.lint.world import codes, corpus_of, lint_all, messages, query

BODY = """\
def cached(self, name):
    with self.lock:
        found = self.cache.get(name)
        if found is not None:
            return found
    opened = self.database.open_table(name, self.settings)
    self.cache[name] = opened
    return opened
"""
OTHER = "def other(self):\n    return [self.first, self.second, self.third]\n"


def spaced(text):
    """The same code with other blanks and other comments."""
    return "# A remark.\n" + text.replace("    ", "  ").replace("\n    return", "\n\n    # why\n    return")


def test_copy_of_a_range_is_found_whatever_its_blanks(tmp_path):
    corpus = corpus_of(tmp_path, {"a.py": BODY, "b.py": OTHER + spaced(BODY)})
    report = lint_all(corpus, query("q", "why is a table opened once", "a.py:1-8"))
    assert messages(report, "G311") == [
        "b.py:4-11 copies all 8 lines of a.py:1-8, ignoring comments, headings and imports"
    ]


def test_copy_of_a_symbol_is_found(tmp_path):
    corpus = corpus_of(tmp_path, {"a.py": BODY, "b.py": OTHER + BODY})
    assert codes(lint_all(corpus, query("q", "why is a table opened once", "a.py::cached")), "G31") == ["G311"]


@pytest.mark.parametrize("more", [{"secondary": ["b.py::cached"]}, {"adversaries": ["b.py::cached"]}])
def test_copy_that_is_spoken_for_is_no_finding(tmp_path, more):
    corpus = corpus_of(tmp_path, {"a.py": BODY, "b.py": OTHER + BODY})
    assert not codes(lint_all(corpus, query("q", "why is a table opened once", "a.py::cached", **more)), "G31")


def test_copy_of_a_secondary_target_is_no_matter(tmp_path):
    corpus = corpus_of(tmp_path, {"a.py": BODY, "b.py": OTHER + BODY, "c.py": OTHER})
    asked = query("q", "why is a table opened once", "c.py", secondary=["a.py::cached"])
    assert not codes(lint_all(corpus, asked), "G31")


@pytest.mark.parametrize("wide", [0, 60])
def test_short_stretch_is_alike_by_idiom(tmp_path, wide):
    name = "x" * (1 + wide)
    short = f"def size(self):\n    if self.{name} is None:\n        return 0\n    return len(self.{name})\n"
    corpus = corpus_of(tmp_path, {"a.py": short, "b.py": OTHER + short})
    assert not codes(lint_all(corpus, query("q", "how many are there", "a.py::size")), "G31")


def test_same_lines_in_another_order_are_other_code(tmp_path):
    head, *steps, end = long_body().splitlines(keepends=True)
    corpus = corpus_of(tmp_path, {"a.py": long_body(), "b.py": "".join([head, *steps[10:], *steps[:10], end])})
    assert not codes(lint_all(corpus, query("q", "in which order is it done", "a.py::pipeline")), "G31")


def test_one_other_line_is_no_exact_copy(tmp_path):
    changed = BODY.replace("self.cache[name] = opened", "self.cache[name] = (opened, 1)").replace("cached", "kept")
    corpus = corpus_of(tmp_path, {"a.py": BODY, "b.py": changed})
    assert not codes(lint_all(corpus, query("q", "why is a table opened once", "a.py::cached")), "G31")


def long_body(change=""):
    steps = "".join(f"    step_{n} = self.run({n}, self.options[{n}])\n" for n in range(20))
    return f"def pipeline(self):\n{steps}{change}    return step_19\n"


def test_near_copy_of_the_same_name_is_found(tmp_path):
    corpus = corpus_of(tmp_path, {"a.py": long_body(), "b.py": OTHER + long_body("    self.done()\n")})
    report = lint_all(corpus, query("q", "in which order is it done", "a.py::pipeline"))
    assert codes(report, "G31") == ["G312"]


def test_near_copy_of_another_name_is_another_thing(tmp_path):
    other = long_body("    self.done()\n").replace("def pipeline", "def reverse_pipeline")
    corpus = corpus_of(tmp_path, {"a.py": long_body(), "b.py": other})
    assert not codes(lint_all(corpus, query("q", "in which order is it done", "a.py::pipeline")), "G31")


def test_near_copy_in_another_class_is_another_thing(tmp_path):
    made = [
        f"class {name}:\n" + long_body(end).replace("\n", "\n    ")
        for name, end in (("A", ""), ("B", "    self.d()\n"))
    ]
    files = {"a.py": made[0].replace(":\ndef", ":\n    def"), "b.py": made[1].replace(":\ndef", ":\n    def")}
    corpus = corpus_of(tmp_path, files)
    assert not codes(lint_all(corpus, query("q", "in which order is it done", "a.py::A.pipeline")), "G31")
    files["b.py"] = files["b.py"].replace("class B", "class A")
    corpus = corpus_of(tmp_path, files)
    assert codes(lint_all(corpus, query("q", "in which order is it done", "a.py::A.pipeline")), "G31") == ["G312"]


def test_copies_of_files_are_found_by_content_and_by_name(tmp_path):
    files = {"one/a.py": long_body(), "two/b.py": long_body(), "two/a.py": long_body("    self.done()\n")}
    report = lint_all(corpus_of(tmp_path, files), query("q", "in which order is it done", "one/a.py"))
    assert messages(report, "G311") == ["two/b.py has the same content as one/a.py"]
    assert [text.partition(" ")[0] for text in messages(report, "G312")] == ["two/a.py"]


def test_files_that_share_a_name_only_are_no_copies(tmp_path):
    files = {"one/index.py": long_body(), "two/index.py": long_body().replace("step", "part").replace("run", "go")}
    report = lint_all(corpus_of(tmp_path, files), query("q", "in which order is it done", "one/index.py"))
    assert not codes(report, "G31")

"""`assay engines` as a user meets it."""

import json
import sys
import tomllib

import pytest

from assay.cli.main import main
from assay.engines import KINDS
from assay.engines.presets import load_preset, shipped_presets
from assay.experiment import read_run

#: A real tool in ten lines: files that hold any word of the question, with talk around its JSON.
GREP = """\
import json, pathlib, sys
words = sys.argv[1].lower().split()
print("loading model ... done")
found = []
for path in sorted(pathlib.Path(".").rglob("*.py")):
    for number, line in enumerate(path.read_text().lower().splitlines(), 1):
        if any(word in line for word in words):
            found.append({"file": str(path), "line": number, "score": sum(word in line for word in words)})
print(json.dumps(sorted(found, key=lambda hit: -hit["score"])[: int(sys.argv[2])]))
"""
PRESET = """\
# a tool of ours
[preset]
about = "grep in ten lines"
docs = "version 1.0 of itself"

[engine]
kind = "command"
argv = ["{python}", "{{preset}}/grep.py", "{{query}}", "{{k}}"]
"""


@pytest.fixture(autouse=True)
def _plain(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def grep(shop):
    """A preset of the user's own, outside the corpus."""
    folder = shop.parent / "tools"
    folder.mkdir()
    (folder / "grep.py").write_text(GREP)
    path = folder / "grep.toml"
    path.write_text(PRESET.format(python=sys.executable))
    return path


def call(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(["engines", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def as_json(capsys, *arguments: str) -> tuple[int, dict]:
    code, out, _ = call(capsys, *arguments, "--json", "--quiet")
    return code, json.loads(out)


def test_list_names_every_kind_and_preset_with_its_state(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    code, data = as_json(capsys)
    assert code == 0
    assert data["schema"] == "assay/engines/1"
    assert [kind["name"] for kind in data["kinds"]] == sorted(KINDS)
    rows = {row["name"]: row for row in data["presets"]}
    assert list(rows) == sorted(shipped_presets())
    assert (rows["ck"]["installed"], rows["ck"]["missing"], rows["ck"]["verified"]) == (False, ["ck"], "")
    assert "0.7.11" in rows["ck"]["docs"]
    assert data == as_json(capsys, "list")[1]


def test_list_says_how_to_get_what_is_missing_and_the_version_of_what_is_here(capsys, monkeypatch, tmp_path):
    tool = tmp_path / "ck"
    tool.write_text("#!/bin/sh\necho ck 9.8.7\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.delenv("PYCKLE_API_KEY", raising=False)
    code, out, _ = call(capsys)
    assert code == 0
    assert "yes, 9.8.7" in out
    assert "set PYCKLE_API_KEY" in out
    assert "unverified: written from the source of ck 0.7.11" in " ".join(out.replace("\n", " ").split())
    assert "npm install -g" in out


def test_show_prints_a_preset_that_can_be_saved_and_used(shop, capsys):
    code, out, _ = call(capsys, "show", "semble")
    assert code == 0
    folder = str(load_preset("semble").path.parent)
    assert out.replace(folder, "{preset}") == load_preset("semble").text
    assert "{preset}" not in out
    (shop.parent / "mine.toml").write_text(call(capsys, "show", "ripgrep-literal")[1])
    code, data = as_json(capsys, "check", "../mine.toml")
    assert (code, data["works"]) == (0, True)
    assert any("preset mine" in note for note in data["notes"])


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_show_prints_the_settings_of_a_kind_as_toml(kind, capsys):
    code, data = as_json(capsys, "show", kind)
    assert code == 0
    assert tomllib.loads(data["toml"]) == {"engines": {f"my-{kind}": {"kind": kind}}}
    assert data["schema"] == "assay/engines-show/1"


def test_show_refuses_a_name_that_is_none(capsys):
    code, _, err = call(capsys, "show", "sembel")
    assert code == 2
    assert "did you mean 'semble'" in err


def test_check_says_what_it_understood(grep, capsys):
    code, data = as_json(capsys, "check", str(grep))
    assert (code, data["works"], data["problems"]) == (0, True, [])
    assert data["schema"] == "assay/engines-check/1"
    name, sentence, nonsense = data["answers"]
    assert name["rank"] == 1
    assert 0 < name["known_paths"] == name["with_lines"] == name["with_scores"] == name["results"]
    assert sentence["scores_fall"] is True
    assert any("loading model" in note for note in name["notes"])
    assert nonsense["results"] == 0
    assert data["index_seconds"] is not None


def test_a_file_of_the_users_is_an_engine_of_a_run_and_called_after_the_file(grep, shop, capsys):
    alone = ["--baseline", "grep", "--no-references", "--phrasings", "human"]
    assert main(["run", "--gold", "gold.yaml", "--engine", str(grep), "--quiet", *alone]) == 0
    assert "grep" in capsys.readouterr().out
    assert "grep" in {engine.name for engine in read_run(shop / "results").engines}


def test_check_tells_people_the_same(grep, capsys):
    code, out, err = call(capsys, "check", str(grep), "--quiet")
    assert code == 0
    for text in ("all in the corpus", "all with lines", "falling", "is file 1", "no results, as expected", "works"):
        assert text in out
    assert "unverified: written from version 1.0 of itself" in out
    assert err == ""


def test_check_of_a_tool_that_fails_exits_4_with_its_own_words_and_a_next_step(grep, capsys):
    (grep.parent / "grep.py").write_text("import sys\nsys.exit('cannot open the vault')\n")
    code, out, _ = call(capsys, "check", str(grep), "--quiet")
    assert code == 4
    assert "cannot open the vault" in out
    assert "→" in out
    assert "cannot be measured" in out
    assert as_json(capsys, "check", str(grep))[1]["works"] is False


def test_check_of_a_tool_that_is_not_there_exits_4_before_anything_runs(shop, capsys, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    code, _, err = call(capsys, "check", "ck", "--quiet")
    assert code == 4
    assert "program not found: ck" in err
    assert "cargo install ck-search" in err


def test_check_takes_an_engine_of_assay_toml_by_its_name(grep, shop, capsys):
    (shop / "assay.toml").write_text(
        f'[run]\ngold = "gold.yaml"\n[engines.ours]\npreset = "{grep}"\noversample = 2\n'
        '[engines.wrong]\nkind = "random"\nsed = 3\n'
    )
    assert as_json(capsys, "check", "ours")[0] == 0
    assert "ours works: assay run\n" in call(capsys, "check", "ours")[1]
    assert "random works: assay run --engine random\n" in call(capsys, "check", "random", "--timeout", "9")[1]
    (shop / "assay.toml").rename(shop.parent / "other.toml")
    other = ("--config", "../other.toml")
    assert call(capsys, "check", "ours")[0] == 2
    code, data = as_json(capsys, "check", "ours", "--config", "../other.toml")
    assert (code, data["engine"]) == (0, "ours")
    assert "ours works: assay run --config ../other.toml\n" in call(capsys, "check", "ours", *other)[1]
    code, _, err = call(capsys, "check", "wrong", "--config", "../other.toml")
    assert code == 2
    assert "unknown setting 'sed'" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "nothing-like-this"),
        ("check", "random", "--config", "nowhere.toml"),
        ("check", "random", "--timeout", "0"),
        ("check", "random", "nowhere"),
        ("check", "random", "docs"),
    ],
)
def test_check_refuses_bad_input_with_2(arguments, shop, capsys):
    (shop / "docs").mkdir()
    (shop / "docs" / "page.md").write_text("# no code\n")
    assert call(capsys, *arguments, "--quiet")[0] == 2


def test_check_takes_some_of_the_standard_library_where_there_is_no_code(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    code, data = as_json(capsys, "check", "keywords")
    assert code == 0
    assert data["corpus"]["repository"].startswith("stdlib")
    assert 10 < data["corpus"]["files"] < 120


def test_check_tells_what_is_wrong_with_the_engine_before_it_reads_the_corpus(shop, capsys):
    code, _, err = call(capsys, "check", "sembel", "no-such-folder")
    assert code == 2
    assert "did you mean 'semble'" in err
    assert "looking for questions" not in err


def test_check_tells_once_that_an_engine_does_not_open(grep, capsys):
    grep.write_text(grep.read_text() + f'index = ["{sys.executable}", "-c", "raise SystemExit(\'no licence\')"]\n')
    code, out, _ = call(capsys, "check", str(grep), "--quiet")
    assert code == 4
    assert out.count("exit code 1: no licence") == 1  # the command to try says it too


def test_check_takes_an_engine_that_needs_the_answers(shop, capsys):
    assert call(capsys, "check", "oracle", "--quiet")[0] == 0


def test_an_engine_of_assay_toml_draws_with_its_seed_as_in_a_run(shop, capsys):
    def drawn(*flags):
        return as_json(capsys, "query", "chance", "cart", *flags)[1]["hits"]

    (shop / "assay.toml").write_text('[run]\nseed = 5\n[engines.chance]\nkind = "random"\n')
    assert drawn() == drawn("--seed", "5") != drawn("--seed", "0")


def test_check_points_to_the_settings_of_an_engine_that_fails(grep, shop, capsys):
    (grep.parent / "grep.py").write_text("import sys\nsys.exit('no')\n")
    (shop / "assay.toml").write_text(f'[engines.ours]\npreset = "{grep}"\n')
    assert "Its settings are in assay.toml." in call(capsys, "check", "ours", "--quiet")[1]
    said = " ".join(call(capsys, "check", str(grep), "--quiet")[1].split())
    assert f"`assay engines show {grep}` prints its settings." in said


def test_show_prints_an_engine_of_the_file_as_it_stands(shop, capsys):
    mine = '[engines.mine]\nkind = "command"\nargv = ["grep", "{query}"]  # plain\n[engines.mine.env]\nA = "1"\n'
    (shop / "assay.toml").write_text(f'[run]\ngold = "gold.yaml"\n\n{mine}\n[engines.minor]\nkind = "builtin"\n')
    assert main(["engines", "show", "mine"]) == 0
    assert capsys.readouterr().out == mine


@pytest.fixture
def configured(shop):
    """A repository whose assay.toml names its gold set; a word of the question stands nowhere else."""
    gold = shop / "gold.yaml"
    gold.write_text(gold.read_text().replace("queries:", "# zebrafish\nqueries:", 1))
    (shop / "assay.toml").write_text('# zebrafish\n[run]\ngold = "gold.yaml"\n')
    return shop


def found(capsys, *arguments: str) -> list[str]:
    code, data = as_json(capsys, "query", "keywords", "zebrafish", *arguments)
    assert code == 0
    return sorted(hit["path"] for hit in data["hits"])


def test_ask_finds_neither_the_gold_set_nor_its_configuration(configured, capsys):
    assert found(capsys) == []
    (configured / "assay.toml").rename(configured / "other.toml")
    assert found(capsys) == ["gold.yaml", "other.toml"]
    assert found(capsys, "--config", "other.toml") == []


def test_files_of_a_configuration_without_gold_are_files_like_others(configured, capsys):
    (configured / "assay.toml").write_text("# zebrafish\n[run]\nk = 5\n")
    assert found(capsys) == ["assay.toml", "gold.yaml"]


def test_every_file_of_a_gold_folder_is_left_out_and_nothing_else_in_it(configured, capsys):
    folder = configured / "sets"
    folder.mkdir()
    (configured / "gold.yaml").rename(folder / "gold.yaml")
    (folder / "gold.yaml").write_text((folder / "gold.yaml").read_text().replace("path: .", "path: .."))
    (folder / "notes.py").write_text("# zebrafish\n")
    (configured / "assay.toml").write_text('[run]\ngold = "sets"\n')
    assert found(capsys) == ["sets/notes.py"]
    (folder / "gold.yaml").write_text("assay: 1\nqueries: [broken\n# zebrafish\n")
    assert found(capsys) == ["sets/gold.yaml", "sets/notes.py"]


def test_check_is_made_without_the_gold_set_under_the_name_that_was_given(configured, capsys):
    _, before = as_json(capsys, "check", "keywords", ".")
    (configured / "assay.toml").unlink()
    _, after = as_json(capsys, "check", "keywords", ".")
    assert before["corpus"]["repository"] == after["corpus"]["repository"]
    assert before["corpus"]["files"] == after["corpus"]["files"] - 1


def test_engine_that_is_checked_works_in_a_copy_without_the_gold_set(configured, capsys):
    table = (
        '[engines.ls]\nkind = "command"\nargv = ["sh", "-c", "ls gold.yaml assay.toml shop/cart.py; :", "{query}"]\n'
    )
    with (configured / "assay.toml").open("a") as file:
        file.write(table)
    _, data = as_json(capsys, "check", "ls")
    assert [(one["results"], one["first"]) for one in data["answers"]] == [(1, "shop/cart.py")] * 3


def test_check_has_no_empty_heading(shop, capsys):
    code, out, _ = call(capsys, "check", "keywords")
    assert code == 0
    assert [line.split() for line in out.splitlines() if line.startswith("Property ")] == [["Property", "Value"]]


@pytest.mark.parametrize("command", [["engines", "check"], ["engines", "query"], ["audit"]])
def test_mistake_in_an_engine_of_the_file_is_told_with_its_line(shop, capsys, command):
    (shop / "assay.toml").write_text('[run]\ngold = "gold.yaml"\n\n[engines.mine]\nkind = "comand"\n')
    assert main([*command, "mine", *(["what"] if command[-1] == "query" else []), "."]) == 2
    assert (
        "assay.toml:4: mine: unknown kind of engine 'comand'\nhint: did you mean 'command'?" in capsys.readouterr().err
    )


def test_mistake_in_a_flag_is_not_blamed_on_the_file(shop, capsys):
    (shop / "assay.toml").write_text('[run]\ngold = "gold.yaml"\n\n[engines.mine]\nkind = "builtin"\n')
    assert main(["run", "--engine", "mine=bultin"]) == 2
    said = capsys.readouterr().err
    assert "mine: unknown engine 'bultin'" in said
    assert "assay.toml" not in said


def test_list_does_not_import_modules_of_the_current_folder(tmp_path, monkeypatch, capsys):
    (tmp_path / "json.py").write_text("import pathlib\npathlib.Path(__file__).with_name('imported').touch()\n")
    monkeypatch.chdir(tmp_path)
    assert main(["engines", "--json"]) == 0
    (preset,) = (entry for entry in json.loads(capsys.readouterr().out)["presets"] if entry["name"] == "assay-mcp")
    assert preset["version"]
    assert not (tmp_path / "imported").exists()


def test_check_takes_the_named_engines_of_run(shop, capsys):
    code, data = as_json(capsys, "check", "mine=keywords")
    assert (code, data["works"]) == (0, True)

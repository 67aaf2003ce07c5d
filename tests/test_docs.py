"""Docs cannot rot: pages made from the program equal the program, and the README's commands exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from assay.cli.main import build_parser, main
from docs.generate import FOLDER, PAGES

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_reference_page_equals_the_program(name):
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name](), "run `make docs`"


def readme_commands() -> list[str]:
    blocks = re.findall(r"```bash\n(.*?)```", README, flags=re.DOTALL)
    lines = [line.partition("  #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("assay ")]


def test_readme_shows_commands_to_check():
    assert len(readme_commands()) >= 8


@pytest.mark.parametrize("command", readme_commands())
def test_readme_command_parses(command):
    import shlex

    build_parser().parse_args(shlex.split(command)[1:])


def test_readme_python_example_runs(shop):
    example = re.search(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert example is not None
    done = subprocess.run([sys.executable, "-c", example.group(1)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_first_five_minutes_run_as_written(shop, capsys):
    (shop / "gold.yaml").unlink()
    after = ("compare results --all-pairs", "gate results --require Hit@5>=0.1", "plan --detect 0.05")
    for command in ("init", "run", *after):
        assert main([*command.split(), "--quiet"]) == 0, capsys.readouterr().err


def test_readme_shows_the_demo_of_the_set_that_ships():
    from assay import load_gold

    assert f" on {len(load_gold('stdlib').golds[0].queries)} queries" in README


def test_readme_targets_exist_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"^make (\w+)", README, flags=re.MULTILINE)):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_readme_gold_example_is_a_gold_file(tmp_path):
    from assay import load_gold

    example = re.search(r"```yaml\n(.*?)```", README, flags=re.DOTALL)
    assert example is not None
    (tmp_path / "gold.yaml").write_text(example.group(1), encoding="utf-8")
    gold = load_gold(tmp_path / "gold.yaml").golds[0]
    assert gold.queries[0].adversaries[0].confusion == "retries jobs, never requests"

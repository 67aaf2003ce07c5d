"""docs/guides/ci.md says of the Action what the Action is; that its commands run, tests/docs/test_pages.py sees."""

import re

import yaml

from tests.action.runner import action
from tests.docs.running import DOCS

#: The exit codes of `assay gate`, which tests/contracts pins.
VERDICTS = [
    (0, "pass"), (0, "inconclusive"), (1, "fail"), (2, "bad input"), (3, "inconclusive"), (4, "engine failed"),
    (5, "not comparable"),
]  # fmt: skip
PAGE = (DOCS / "guides" / "ci.md").read_text("utf-8")


def test_guide_lists_every_input_with_its_default():
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| ([^|]*)\|", PAGE, flags=re.M))
    inputs = action()["inputs"]
    assert list(rows) == list(inputs)
    told = {name: text.strip().strip("`") for name, text in rows.items() if name != "github-token"}
    assert told == {name: str(inputs[name]["default"]) for name in told}


def test_guide_lists_every_output_and_verdict():
    for name in action()["outputs"]:
        assert f"`{name}`" in PAGE
    rows = re.findall(r"^\| (\d) \| ([a-z ]+) \|", PAGE, flags=re.M)
    assert [(int(code), word) for code, word in rows] == VERDICTS


def test_workflow_of_the_guide_gives_inputs_that_there_are():
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.S)
    steps = yaml.safe_load(text)["jobs"]["gate"]["steps"]
    ours = next(step for step in steps if step.get("id") == "assay")
    assert set(ours["with"]) <= set(action()["inputs"])
    used = set(re.findall(r"steps\.assay\.outputs\.([\w-]+)", text))
    assert used
    assert used <= set(action()["outputs"])

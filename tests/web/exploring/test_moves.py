"""How ranks moved, and what the measure says of either answer."""

import json

import pytest

from tests.web.exploring.serving import ask


def test_results_are_marked_and_measured_as_in_the_report(client, runs):
    answer = ask(client, query="tax", form="human", changes={"search.dense.model": "static"}).json
    marks = {hit["path"]: (hit["target"], hit["adversary"]) for hit in answer["hits"]}
    assert marks["tax.py"] == (0, None)
    assert marks["test_tax.py"] == (None, 0)
    scored = json.loads((runs / "before/results.json").read_text(encoding="utf-8"))["comparison"]["means"]
    mean = next(row["mean"] for row in scored if (row["engine"], row["measure"]) == ("mine", "nDCG@5"))
    values = [ask(client, query=name, form="human").json["value"] for name in ("cart", "tax", "retry")]
    assert sum(value["before"] for value in values) / 3 == pytest.approx(mean)
    assert {value["measure"] for value in values} == {"nDCG@5"}

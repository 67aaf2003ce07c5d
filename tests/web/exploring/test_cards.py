"""What the list says of each run."""

import json
import os
import shutil
from datetime import UTC, datetime

from tests.web.exploring.serving import exploring, listed, problem


def test_runs_are_listed_newest_first_with_what_was_found(client):
    names = [one["name"] for one in client.get("/api/runs").json["runs"]]
    assert names == ["deep/after", "before"]
    one = listed(client)["deep/after"]
    assert (one["suite"], one["queries"], one["primary"], one["note"]) == ("shop", 3, "nDCG@5", None)
    assert {engine["name"]: engine["role"] for engine in one["engines"]}["mine"] == "candidate"
    assert one["best"]["engine"] == "mine"
    assert 0 <= one["best"]["low"] <= one["best"]["mean"] <= 1
    assert (one["decision"]["candidate"]["name"], one["decision"]["baseline"]["name"]) == ("mine", "keywords")
    assert "/" not in one["id"]


def test_broken_runs_are_listed_with_what_is_wrong(runs, tmp_path):
    shutil.copytree(runs / "before", tmp_path / "whole")
    shutil.copytree(runs / "before", tmp_path / "lost")
    (tmp_path / "lost" / "gold.jsonl").unlink()
    for name, text in {
        "text": "{",
        "list": "[]",
        "other": '{"assay_run": 99}',
        "odd": '{"assay_run": 2, "members": {}}',
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(text, encoding="utf-8")
    with exploring(tmp_path) as client:
        found = listed(client)
        assert {name for name, one in found.items() if "error" not in one} == {"whole"}
        assert "gold.jsonl is missing" in found["lost"]["error"]
        assert client.get(f"/run/{found['whole']['id']}").status == 200
        broken = client.get(f"/run/{found['lost']['id']}")
        assert broken.status == 400
        assert "gold.jsonl" in problem(broken)["message"]
        shutil.copy(runs / "before/gold.jsonl", tmp_path / "lost")
        assert client.get(f"/run/{found['lost']['id']}").status == 200, "what failed once is tried again"


def test_runs_with_a_day_and_runs_with_a_time_are_in_one_order(runs, tmp_path):
    noon = datetime(2026, 11, 16, 12, tzinfo=UTC).timestamp()
    said = {  # name: date in the record, when the folder was written, in hours after noon of that day
        "early": ("2026-11-16", -2),
        "timed": ("2026-11-16T12:00:00+00:00", 30),
        "late": ("2026-11-16", 2),
        "copied": ("2026-11-15", 300),
    }
    for name, (date, hours) in said.items():
        shutil.copytree(runs / "before", tmp_path / name)
        file = tmp_path / name / "run.json"
        manifest = json.loads(file.read_text(encoding="utf-8"))
        manifest["header"]["date"] = date
        file.write_text(json.dumps(manifest), encoding="utf-8")
        os.utime(file, (noon + 3600 * hours,) * 2)
    with exploring(tmp_path) as client:
        found = client.get("/api/runs").json["runs"]
    assert [one["name"] for one in found] == ["late", "timed", "early", "copied"]
    assert [one["when"] for one in found] == ["2026-11-16", "2026-11-16 12:00", "2026-11-16", "2026-11-15"]
    assert [one["made"] for one in found] == sorted((one["made"] for one in found), reverse=True)


def test_reports_of_another_run_are_not_believed(runs, tmp_path):
    shutil.copytree(runs / "before", tmp_path / "run")
    results = json.loads((tmp_path / "run/results.json").read_text(encoding="utf-8"))
    results["header"]["gold_hash"] = "other"
    (tmp_path / "run/results.json").write_text(json.dumps(results), encoding="utf-8")
    with exploring(tmp_path) as client:
        one = listed(client)["run"]
        assert one["decision"] is None
        assert one["note"]
        assert one["suite"] == "shop"
        (tmp_path / "run/results.json").unlink()
        assert listed(client)["run"]["note"]

"""`assay index` as a user meets it."""

import json

import pytest

from assay.cli.main import main


@pytest.fixture(autouse=True)
def _own_index(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_INDEX_DIR", str(tmp_path / "index"))


def as_json(capsys, *arguments: str) -> dict:
    code = main(["index", *arguments, "--json", "--quiet"])
    out, err = capsys.readouterr()
    assert code == 0, err
    data: dict = json.loads(out)
    return data


def test_first_time_reads_everything_and_the_second_time_nothing(shop, tmp_path, capsys):
    first, second = as_json(capsys), as_json(capsys)
    assert first["schema"] == "assay/index/2"
    assert first["changed"] == first["files"] == 8
    assert first["units"] >= first["files"]
    assert first["index"].startswith(str(tmp_path / "index"))
    assert first["directory"] == str(shop)
    assert second["changed"] == 0
    assert second["files"] == 8


def test_only_what_changed_is_read_again(shop, capsys):
    as_json(capsys)
    (shop / "shop/tax.py").write_text("def vat():\n    return 1\n")
    (shop / "shop/cart.py").unlink()
    data = as_json(capsys)
    assert (data["changed"], data["files"]) == (1, 7)


def test_rebuild_reads_everything_again(shop, capsys):
    as_json(capsys)
    assert as_json(capsys, "--rebuild")["changed"] == 8


def test_workers_change_nothing_but_the_time(shop, capsys):
    one = as_json(capsys, "--workers", "1", "--rebuild")
    two = as_json(capsys, "--workers", "2", "--rebuild")
    assert {k: v for k, v in one.items() if k != "seconds"} == {k: v for k, v in two.items() if k != "seconds"}


def test_what_was_skipped_is_counted_by_reason(shop, capsys):
    (shop / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    data = as_json(capsys)
    assert data["skipped"]["binary"] == 1
    assert {"path": "logo.png", "reason": "binary"} in data["skipped_files"]


def test_people_get_sentences(shop, capsys):
    (shop / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    assert main(["index"]) == 0
    out, err = capsys.readouterr()
    for text in ("8 files", "chunks", "python 6", "binary 1", "logo.png"):
        assert text in out
    assert "indexing" in err


def test_index_that_was_damaged_is_built_anew_with_a_sentence(shop, capsys):
    file = next(iter((shop.parent / "index").glob("*/index.assay")), None)
    assert file is None
    folder = as_json(capsys)["index"]
    path = shop.parent / "index" / folder.rpartition("/")[2] / "index.assay"
    path.write_bytes(path.read_bytes()[:100])
    data = as_json(capsys)
    assert data["changed"] == 8
    assert any("rebuilt" in note for note in data["notes"])


@pytest.mark.parametrize("arguments", [["nowhere"], ["shop/tax.py"], ["--workers", "0"], ["--set", "stem.fils=1"]])
def test_bad_input_ends_in_two_with_the_next_step(shop, capsys, arguments):
    code = main(["index", *arguments])
    assert code == 2
    assert "\nhint: " in capsys.readouterr().err

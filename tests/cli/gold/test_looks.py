"""`assay gold access-log` as a user meets it."""

from assay.cli.main import main


def test_looks_tells_a_folder_from_what_is_not_there(tmp_path, capsys):
    assert main(["gold", "access-log", str(tmp_path)]) == 2
    assert "expected a file, got a directory" in capsys.readouterr().err
    assert main(["gold", "access-log", str(tmp_path / "none.yaml")]) == 2
    assert "no such file" in capsys.readouterr().err

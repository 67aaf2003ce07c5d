"""What is read as a gold file: regular files; a pipe or a device would never end."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.errors import AssayError, GoldError
from assay.files import read_utf8
from assay.gold import load_gold
from assay.gold.build import read_source
from assay.gold.formats.rows import open_source
from assay.gold.mining.logs import read_shell


@pytest.fixture(autouse=True)
def no_hanging() -> Iterator[None]:
    """End a test that waits for a pipe."""

    def stop(*_: object) -> None:
        pytest.fail("the read hangs")  # no OSError, which a reader may take for a file it cannot read

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(10)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def pipe(tmp_path) -> Path:
    path: Path = tmp_path / "gold.yaml"
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("read", [read_source, open_source, load_gold, read_utf8, read_shell])
def test_a_pipe_is_refused(pipe, read):
    with pytest.raises(AssayError, match="expected a regular file") as error:
        read(pipe)
    assert error.value.file == str(pipe)
    assert "save" in (error.value.hint or "")


@pytest.mark.parametrize("read", [read_source, load_gold, read_shell])
def test_a_device_is_refused(read):
    with pytest.raises(AssayError, match="expected a regular file"):
        read(Path("/dev/zero"))


def test_a_pipe_among_the_files_of_a_folder_is_refused(pipe):
    with pytest.raises(GoldError, match="expected a regular file"):
        load_gold(pipe.parent)


def test_a_link_to_a_file_is_read_and_a_folder_is_said_to_be_one(tmp_path):
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.txt").symlink_to("a.txt")
    assert read_source(tmp_path / "b.txt").text == "a"
    with pytest.raises(GoldError, match="directory"):
        read_source(tmp_path)


def test_a_pipe_on_the_command_line_ends_with_exit_code_2(pipe, capsys):
    assert main(["gold", "convert", str(pipe), str(pipe.parent / "x.csv"), "--to", "plain"]) == 2
    assert "expected a regular file" in capsys.readouterr().err

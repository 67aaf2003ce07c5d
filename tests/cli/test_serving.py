"""A server comes back where it was, so that pages that are open find it."""

import argparse

import pytest

from assay.cli.options import listen
from assay.errors import SetupError


def args(port=None):
    return argparse.Namespace(port=port, host=None)


def test_a_review_comes_back_at_the_port_it_had_unless_that_is_taken(tmp_path, capsys):
    last = tmp_path / "set.port"
    with listen(args(), (), last) as server:
        first = server.port
        assert last.read_text() == f"{first}\n"
        with listen(args(), (), last) as other:
            assert other.port != first
            assert f"port {first} of the last review is in use" in capsys.readouterr().err
        with pytest.raises(SetupError, match="cannot listen"):
            listen(args(first), (), last)
    for _ in range(2):
        with listen(args(), (), last) as server:
            assert server.port == other.port
    with listen(args(first), (), last) as server:
        assert (server.port, last.read_text()) == (first, f"{first}\n")


@pytest.mark.parametrize("text", ["", "x", "-1", "70000", "0"])
def test_what_is_no_port_is_any_free_one(tmp_path, text):
    (tmp_path / "set.port").write_text(text)
    with listen(args(), (), tmp_path / "set.port") as server:
        assert 0 < server.port < 65536

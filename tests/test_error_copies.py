"""Copies of errors carry no traceback, whatever picklers a library registers."""

import copyreg

import pytest

from assay.errors import EngineError


def _with_traceback(error: EngineError) -> tuple[object, ...]:
    return (_restore, (error.message, error.__traceback__))


def _restore(message: str, traceback: object) -> EngineError:
    restored = EngineError(message)
    restored.__traceback__ = traceback  # type: ignore[assignment]  # a traceback, as tblib restores it
    return restored


def test_rewritten_error_has_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(copyreg.dispatch_table, EngineError, _with_traceback)
    with pytest.raises(EngineError) as caught:
        raise EngineError("the key is sk-1", hint="use sk-1")
    caught.value.stderr = "sk-1"
    changed = caught.value.rewrite(lambda text: text.replace("sk-1", "…"))
    assert changed.__traceback__ is None
    assert (changed.message, changed.hint, changed.args) == ("the key is …", "use …", ("the key is …",))
    assert changed.stderr == "sk-1"

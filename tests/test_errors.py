import copy
import copyreg
import pickle

import pytest

from assay.errors import AssayError, ConfigError, EngineError, EngineTimeoutError
from assay.store.array_file import IndexFormatError


def engine_timeout() -> EngineTimeoutError:
    error = EngineTimeoutError("no answer", file="assay.toml", line=3, hint="allow more time")
    error.waited, error.stderr = 1.5, "Traceback"
    error.add_note("seen by a worker")
    return error


ERRORS = [
    ConfigError("unknown key 'primry'", file="gold.yaml", line=12, hint="did you mean 'primary'?"),
    IndexFormatError("old", "the index has format 0", file="index.assay"),
    engine_timeout(),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("duplicate", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])  # noqa: S301
def test_error_keeps_every_attribute_between_processes(error: AssayError, duplicate):
    same = duplicate(error)
    assert (type(same), str(same), same.args) == (type(error), str(error), error.args)
    assert vars(same) == vars(error)


def test_rewrite_changes_message_and_hint_of_a_copy():
    error = engine_timeout()
    changed = error.rewrite(str.upper)
    assert str(changed) == "assay.toml:3: NO ANSWER\n  → ALLOW MORE TIME"
    assert (changed.args, changed.waited, type(changed)) == (("NO ANSWER",), 1.5, EngineTimeoutError)
    assert str(error) == "assay.toml:3: no answer\n  → allow more time"
    assert AssayError("without a hint").rewrite(str.upper).hint is None


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

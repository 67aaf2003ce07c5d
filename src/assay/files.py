"""Write files so that a reader, a crash or a full disk never meets half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from assay.errors import EnvironmentFailure


def write_atomic(path: Path, data: str | bytes) -> None:
    """Replace a file whole: the old content or the new, whatever happens in between."""
    raw = data.encode("utf-8") if isinstance(data, str) else data
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(raw)
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(name, 0o666 & ~_umask())
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise EnvironmentFailure(
            f"cannot write {path}: {error.strerror or error}", hint="check the folder's rights and the free disk space"
        ) from error


def _umask() -> int:
    """Read the process's umask; the only way is to set it and put it back."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask

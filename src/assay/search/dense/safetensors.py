"""Read a safetensors file with numpy alone: eight bytes of length, a JSON header, then the tensors.

The format is at https://github.com/huggingface/safetensors. The tensors are views of a memory map, so that processes
share a model's weights.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from assay.errors import ConfigError

#: numpy has no bfloat16: its bits are the upper half of a float32.
_TYPES: Final = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I8": "i1"}


def read_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Read the tensors of a file by name; a damaged file is a ConfigError."""
    try:
        raw = np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
        size = int(raw[:8].view("<u8")[0])
        header = json.loads(raw[8 : 8 + size].tobytes())
        data = raw[8 + size :]
        return {name: _tensor(data, entry) for name, entry in header.items() if name != "__metadata__"}
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", file=path, hint="check the path") from error
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise ConfigError("not a safetensors file", file=path, hint="copy or export the model again") from error


def _tensor(data: NDArray[np.uint8], entry: Mapping[str, Any]) -> NDArray[Any]:
    """View one tensor; what does not fit its own shape fails in the reshape."""
    start, end = entry["data_offsets"]
    if not 0 <= start <= end <= len(data):
        raise ValueError(f"bytes {start}-{end} of {len(data)}")
    values = data[start:end].view(_TYPES[entry["dtype"]]).reshape(entry["shape"])
    if entry["dtype"] == "BF16":
        return (values.astype(np.uint32) << 16).view(np.float32)
    return values

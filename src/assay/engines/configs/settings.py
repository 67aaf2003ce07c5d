"""What `[engines.NAME.config]` takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Named = Literal["auto", "toml", "json", "yaml", "ini", "text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigSettings:
    """A configuration file of the tool, made from a template for each engine; {config} is where it lies."""

    template: str = field(metadata={"about": "the file, from the folder of assay.toml; it is read, never changed"})
    format: Named = field(
        default="auto",
        metadata={
            "about": "if not given by the name: .toml, .json, .yaml or .yml, .ini or .cfg, and text for the rest"
        },
    )
    edits: Mapping[str, object] = field(
        default_factory=dict,
        metadata={
            "about": 'keys and their values, { "search.weight" = 0.7 }; the rest of the file stays as it is (JSON is '
            "written anew); in text a key is what stands between two @: @weight@, or @weight=0.5@ with a value for "
            "when no edit names it"
        },
    )
    new_keys: bool = field(
        default=False, metadata={"about": "whether edits may name keys that the template does not have"}
    )

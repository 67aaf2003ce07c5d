"""Engines of known tools: each a TOML file to copy, with what is known of the tool itself."""

from assay.engines.presets.loading import Facts, Preset, find_preset, preset_names, read_preset

__all__ = ["Facts", "Preset", "find_preset", "preset_names", "read_preset"]

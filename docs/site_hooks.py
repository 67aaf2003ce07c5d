"""What the build of the documentation site does beside mkdocs.yml."""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Build no page for addresses that are not there: its own are of a server's root, where this site may not lie."""
    config.theme.static_templates.discard("404.html")
    return config

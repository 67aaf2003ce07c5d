"""The gold sets that come with the package."""

from __future__ import annotations

#: Known by name: questions about the code, and about what its docstrings say.
SHIPPED = ("stdlib", "stdlib-docs")

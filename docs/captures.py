"""Capture terminal output for the documentation as SVG: `python -m docs.captures`, in a pseudo-terminal of 80 columns.

It takes about two minutes.
"""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

IMAGES = Path(__file__).parent / "images"
COLUMNS = 80
LINES = 15  # the longest default output of a command

COMMANDS = {
    "demo": "demo --out results",
    "run": "run --gold stdlib --phrasings human --engine keywords --engine builtin",
    "compare": "compare results",
    "score": "score results --measure Hit@5",
    "gate": "gate results --against baseline.json",
}
PREPARE_GATE = "gate results --write-baseline baseline.json"


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        for name, command in COMMANDS.items():
            if name == "gate":
                capture(Path(directory), PREPARE_GATE)
            write_svg(f"assay {command}", capture(Path(directory), command), IMAGES / f"terminal-{name}.svg")


def capture(work: Path, command: str) -> str:
    """Return what a command prints on a terminal, with colors and without progress."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    for name in ("NO_COLOR", "COLUMNS"):
        environment.pop(name, None)
    arguments = [sys.executable, "-m", "assay", *command.split(), "--quiet"]
    with subprocess.Popen(arguments, cwd=work, stdout=terminal, stderr=terminal, env=environment) as process:
        os.close(terminal)
        output = bytearray()
        while data := _read(controller):
            output += data
    os.close(controller)
    if process.returncode not in (0, 1):
        raise SystemExit(f"assay {command}: exit {process.returncode}\n{output.decode()}")
    return output.decode()


def _read(controller: int) -> bytes:
    try:
        return os.read(controller, 65536)
    except OSError:  # Linux reports a closed terminal as an error
        return b""


def write_svg(prompt: str, output: str, path: Path) -> None:
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    text = Text.from_ansi(output.replace("\r\n", "\n").rstrip())
    if (lines := text.plain.count("\n") + 1) > LINES:
        raise SystemExit(f"{prompt} prints {lines} lines; the limit is {LINES}")
    console.print(Text(f"$ {prompt}", style="bold"))
    console.print(text)
    offline = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)  # no fonts from the network
    path.write_text(console.export_svg(title="assay", unique_id=path.stem, code_format=offline), "utf-8")


if __name__ == "__main__":
    main()

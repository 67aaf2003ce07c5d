"""Run third-party programs without a shell, in bounded time and memory, leaving no processes behind."""

from __future__ import annotations

from assay.processes.child import (
    CHILD_LIMITS,
    Child,
    ChildError,
    ChildExited,
    ChildLimits,
    ChildTimeout,
    OutputLimitExceeded,
)
from assay.processes.running import (
    ANSWER_BYTES,
    PROCESS_LIMITS,
    CompletedProgram,
    End,
    ProcessLimits,
    ProgramSpec,
    find_orphans,
    kill_all,
    kill_orphans,
    last_line,
    run_process,
)
from assay.processes.watch import new_marker

__all__ = [
    "ANSWER_BYTES",
    "CHILD_LIMITS",
    "PROCESS_LIMITS",
    "Child",
    "ChildError",
    "ChildExited",
    "ChildLimits",
    "ChildTimeout",
    "CompletedProgram",
    "End",
    "OutputLimitExceeded",
    "ProcessLimits",
    "ProgramSpec",
    "find_orphans",
    "kill_all",
    "kill_orphans",
    "last_line",
    "new_marker",
    "run_process",
]

"""Run somebody's program: never through a shell, in bounded time and memory, and with nothing left behind."""

from __future__ import annotations

from assay.processes.child import CHILD_LIMITS, Child, ChildFlood, ChildGone, ChildLimits, ChildProblem, ChildTimeout
from assay.processes.groups import ANSWER_BYTES, Task, last_line
from assay.processes.markers import new_marker
from assay.processes.running import PROCESS_LIMITS, End, Finished, ProcessLimits, run_process
from assay.processes.stragglers import end_stragglers, kill_all, stragglers

__all__ = [
    "ANSWER_BYTES",
    "CHILD_LIMITS",
    "PROCESS_LIMITS",
    "Child",
    "ChildFlood",
    "ChildGone",
    "ChildLimits",
    "ChildProblem",
    "ChildTimeout",
    "End",
    "Finished",
    "ProcessLimits",
    "Task",
    "end_stragglers",
    "kill_all",
    "last_line",
    "new_marker",
    "run_process",
    "stragglers",
]

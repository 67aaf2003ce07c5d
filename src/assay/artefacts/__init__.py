"""What is kept so that it need not be made again: addressed by what decides it, checked when it is used."""

from assay.artefacts.code import code_digest, package_digest
from assay.artefacts.keeping import Artefacts
from assay.artefacts.kinds import KINDS, Kind
from assay.artefacts.limits import Limits, parse_age, parse_size
from assay.artefacts.others import Other
from assay.artefacts.passing import scratch
from assay.artefacts.pruning import Pruned, Usage

__all__ = [
    "KINDS",
    "Artefacts",
    "Kind",
    "Limits",
    "Other",
    "Pruned",
    "Usage",
    "code_digest",
    "package_digest",
    "parse_age",
    "parse_size",
    "scratch",
]

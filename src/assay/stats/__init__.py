"""Statistical comparison of engines."""

from assay.stats.compare import all_pairs, compare, compare_slices, means, means_only
from assay.stats.intervals import paired_percentile_bootstrap, percentile_bootstrap
from assay.stats.records import (
    AllPairs,
    Comparison,
    ComparisonRow,
    Interval,
    MeanRow,
    QueryValue,
    RunNames,
    SamplePlan,
    SizeRange,
    SliceRow,
    ValueRange,
    Verdict,
)
from assay.stats.runs import compare_scores, compare_values, read_values
from assay.stats.sample_size import components_of, plan, plan_comparison

__all__ = [
    "AllPairs", "Comparison", "ComparisonRow", "Interval", "MeanRow", "QueryValue", "RunNames", "SamplePlan",
    "SizeRange", "SliceRow", "ValueRange", "Verdict", "all_pairs", "compare", "compare_scores", "compare_slices",
    "compare_values", "components_of", "means", "means_only", "paired_percentile_bootstrap", "percentile_bootstrap",
    "plan", "plan_comparison", "read_values",
]  # fmt: skip

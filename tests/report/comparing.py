from assay.report.comparison import compare_in_run, compare_sides
from assay.report.query_scores import gather


def compare_engines(run, plan, engine=None):
    return compare_in_run(gather((run,), plan.measures, ""), plan, engine)


def compare_runs(old, new, plan, names, engine=None):
    before, after = gather((old,), plan.measures, names[0]), gather((new,), plan.measures, names[1])
    return compare_sides(before, after, plan, engine)

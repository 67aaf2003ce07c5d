"""The actions of `assay gold`: the module that implements each, its help and its flags."""

from assay.cli.arguments import COUNT, LISTENING, NUMBER, Group, above_zero, command, endpoint, flag, value

command(
    "gold.lint:gold lint",
    """Lint gold sets: invalid labels, better targets elsewhere, duplicate queries

    assay gold lint gold.yaml                                    every rule, on the corpus that the set names
    assay gold lint annotations/ --corpus git:../repo@3f2a91c    on another corpus
    assay gold lint gold.yaml --select G1,G2 --ignore G204       some rules, by code or prefix
    assay gold lint gold.yaml --fix                              repair findings and show what changed
    assay gold lint gold.yaml --reach chunks.jsonl               targets that this engine's chunks cannot return
    assay gold lint --github                                     the sets of assay.toml; annotations at their lines

    Exits with 2 if there are errors, with --strict also if there are warnings. docs/reference/lint.md lists the codes.
    """,
    value(
        "sets",
        "Gold file or directory in any format, or 'stdlib' [default: the sets of assay.toml]",
        nargs="*",
        metavar="SET",
    ),
    flag("--config FILE", "Lint the sets of this assay.toml if no SET is given"),
    flag("--corpus SPEC", "Use this code: directory, git:URL@REV, pypi:NAME==V, …"),
    flag("--format FORMAT", "Read the sets in this format [default: auto-detected]"),
    flag("--fix", "Apply safe repairs in place"),
    flag("--select CODES", "Apply these rules only, comma-separated; G2 means all G2xx"),
    flag("--ignore CODES", "Skip these rules, comma-separated"),
    flag(
        "--reach FILE",
        "Check targets against the chunks of an engine: a JSON lines file, or 'builtin'",
        repeatable=True,
    ),
    flag("--strict", "Exit with 2 for warnings too"),
    flag("--github", "Report to GitHub Actions: annotations and job summary"),
)
command(
    "gold.mine:gold mine",
    """Propose queries, adversaries and phrasings for review

    assay gold mine                                   from commits and docs, for the set of assay.toml
    assay gold mine . --set gold.yaml                 for another set, which need not exist
    assay gold mine --from history --count 60         from one of: history, docs, comments, names
    assay gold mine --shell ~/.zsh_history --transcript session.jsonl    from searches and opened files
    assay gold mine --adversaries --run results       from similar names, and from what engines confuse
    assay gold mine --phrasings                       missing phrasings, by rules
    assay gold mine --phrasings --endpoint http://localhost:8080/v1/chat/completions --model qwen3
    assay gold mine --propose --endpoint URL --model NAME    queries from a model, with checked locations

    Proposals wait in gold.review/ beside the set until reviewers vote (`assay gold review`).
    With --shell, --transcript or --propose, other sources need --from. Histories and transcripts contribute only the
    words of queries; likely secrets and private paths are left out. Check proposals from a shell history before you
    share them.
    """,
    value(
        "repo",
        "Code to mine: directory, pypi:NAME==V, git:URL@REV, … [default: .]",
        nargs="?",
        default=".",
        metavar="REPO",
    ),
    flag("--set FILE", "Propose for this gold file, which need not exist [default: that of assay.toml]"),
    flag("--count N", "Propose at most N queries per source", type=COUNT, default=40),
    flag("--seed S", "Seed the sampling", type=NUMBER, default=0),
    flag("--dry-run", "Show the proposals without queueing them"),
    Group(
        "queries",
        flag("--from LIST", "Mine these sources: history,docs,comments,names", dest="sources"),
        flag("--shell FILE", "Mine a shell history", repeatable=True),
        flag("--transcript FILE", "Mine an agent transcript", repeatable=True),
        flag("--propose", "Let the endpoint propose queries, module by module"),
    ),
    Group(
        "for existing queries",
        flag("--adversaries", "Propose adversaries"),
        flag("--run RESULTS", "With --adversaries: propose files that engines of this run confuse"),
        flag("--phrasings", "Propose missing phrasings"),
    ),
    endpoint("for --propose and --phrasings"),
)
command(
    "gold.review:gold review",
    """Review proposals: vote, adjudicate, and write accepted ones to the set

    assay gold review                                  the drafts and proposals of the set in assay.toml, one by one
    assay gold review gold.yaml --reviewer ada         another set; each reviewer is blinded to the others
    assay gold review --browser --open                 in the browser, with the code beside each item
    assay gold review --list --json                    the open items of this reviewer (for agents)
    assay gold review --vote 3f2a91c0d4e5=2 --reason "the rate is decided here"
    assay gold review --votes votes.csv                columns: item, vote, reason
    assay gold review --reviewer qwen --endpoint http://localhost:8080/v1/chat/completions --model qwen3
    assay gold review --status
    assay gold review --reviewer cy --adjudicate       where reviewers disagree; or --decide ITEM=1 --reason "…"
    assay gold review --accept                         write agreed and decided items to the set
    assay gold review --queue-labels                   review the existing labels of the set
    """,
    value("set", "Gold file; --accept creates it if needed [default: that of assay.toml]", nargs="?", metavar="SET"),
    flag("--reviewer NAME", "Vote or decide under this name [default: git config user.name]"),
    flag("--corpus SPEC", "Use this code if no set names it yet"),
    flag("--browser", "Review in the browser, on this machine only"),
    *LISTENING,
    Group(
        "voting",
        flag("--vote ITEM=VALUE", "Vote without a terminal", repeatable=True),
        flag("--reason TEXT", "Give a reason, one for each vote or one for all", repeatable=True),
        flag("--votes FILE", "Read votes from a CSV with the columns item, vote, reason"),
        flag("--list", "List the open items of this reviewer"),
        flag("--limit N", "Stop after N items", type=COUNT),
        flag("--show-engines", "Show which engines returned a result; votes record this"),
    ),
    endpoint("voting by a model"),
    Group(
        "adjudication",
        flag("--status", "Count items by state and votes by reviewer"),
        flag("--adjudicate", "Decide disputed items and see all votes"),
        flag("--decide ITEM=VALUE", "Decide without a terminal", repeatable=True),
        flag("--accept", "Write agreed and decided items to the set"),
        flag("--min-votes N", "Require N agreeing reviewers [default: 1 with one reviewer, else 2]", type=COUNT),
        flag("--queue-labels", "Queue the labels of the set for review"),
    ),
)
command(
    "gold.sets:gold agreement",
    """Report inter-reviewer agreement beyond chance

    Cohen's κ for two reviewers, Krippendorff's α for any number; `unsure` votes count as missing. Votes after the
    item was decided or accepted are ignored, because they are unblinded. If a reviewer voted again after seeing other
    votes, the earlier vote counts.
    """,
    value("set", "Reviewed gold file [default: that of assay.toml]", nargs="?", metavar="SET"),
    flag("--seed N", "Seed the bootstrap intervals", type=NUMBER, default=0),
)
command(
    "gold.pool:gold pool",
    """List unjudged results by expected impact

    assay gold pool                                         the set and the run of assay.toml
    assay gold pool gold.yaml results other-results --measure 'nDCG(level=lines)@10'
    assay gold pool --queue                                 also add them to the review queue of the set

    Labels added from pooled results are marked: `assay score --exclude-pooled` leaves them out.
    """,
    value(
        "words",
        "Gold file, and directories written by `assay run` [default: those of assay.toml]",
        nargs="*",
        metavar="SET|RESULTS",
    ),
    flag("--depth N", "Pool the first N ranks", type=COUNT, default=10),
    flag("--limit N", "List or queue at most N results", type=COUNT, default=50),
    flag("--measure M", "Rank results by their impact on this measure [default: nDCG@10, or at the k of the runs]"),
    flag("--queue", "Add the results to the review queue"),
)
command(
    "gold.sets:gold split",
    """Split a set into dev, test and sealed queries

    assay gold split gold.yaml                          by module: targets in one directory stay in one split
    assay gold split gold.yaml --by file                if all code is in a few directories
    assay gold split gold/ --by repository              whole repositories of a suite
    assay run --split dev                               then: tune on dev; sealed queries must be requested

    Queries with a common target stay together. Assigned queries keep their split and new ones are assigned by the same
    method; --force reassigns all. Omitted shares divide the rest.
    """,
    value("set", "Gold file or directory, which is changed [default: that of assay.toml]", nargs="?", metavar="SET"),
    flag(
        "--by",
        "Keep the queries of a unit together [default: as before, else module]",
        choices=("repository", "module", "file", "query"),
    ),
    flag("--depth N", "Name modules by N directories [default: the whole path]", type=COUNT),
    *(
        flag(f"--{name} X", f"Set the share of {name} queries [default: {share}]", type=float)
        for name, share in (("dev", 0.5), ("test", 0.25), ("sealed", 0.25))
    ),
    flag("--seed N", "Seed the sampling", type=NUMBER, default=0),
    flag("--sd X", "Assume this standard deviation of paired differences", type=above_zero, default=0.3),
    flag("--force", "Reassign all queries, including sealed ones"),
)
command(
    "gold.sets:gold access-log",
    "List accesses to the sealed queries of a set",
    value("set", "Gold file [default: that of assay.toml]", nargs="?", metavar="SET"),
)
command(
    "gold.convert:gold reanchor",
    """Migrate the anchors of a gold set from one commit to another

    assay gold reanchor --to HEAD                               show moved and lost anchors, with candidates
    assay gold reanchor --to HEAD --all                         also list unchanged anchors
    assay gold reanchor gold.yaml --to HEAD --in-place          write the set, with the new commit as its revision
    assay gold reanchor code.csv --repo ../octocode --from b1771ba --to master --out moved.csv
    assay gold reanchor gold.yaml --digest --in-place           add content hashes to line anchors

    Line ranges follow unchanged lines of the Git diff and the definition or section that contains them, through edits,
    renames and moves to other files; symbols and whole files are checked and followed too. Lost anchors are listed with
    candidates, and the set is not written without --drop-lost or --keep-lost.

      unchanged  the same text in the same place      exact  the same text elsewhere
      sure       found by name, most lines survive    low    weak evidence: check it    lost  nothing similar
    """,
    value("set", "Gold file in any format [default: that of assay.toml]", nargs="?", metavar="SET"),
    flag(
        "--from REV",
        "Migrate from this commit [default: that of the corpus, labels or lines of SET]",
        dest="old",
    ),
    flag("--to REV", "Migrate to this commit", dest="new"),
    flag("--repo PATH", "Use this Git repository, bare or not [default: that of the corpus]"),
    Group(
        None,
        flag("--out FILE", "Write the migrated set there, in the format of SET"),
        flag("--in-place", "Overwrite SET"),
    ),
    Group(
        None,
        flag("--drop-lost", "Drop lost anchors, and queries without a primary target"),
        flag("--keep-lost", "Keep the old anchors of lost targets"),
    ),
    flag("--all", "List every anchor, including unchanged ones"),
    flag("--digest", "Add content hashes to line anchors"),
)
command(
    "gold.convert:gold convert",
    """Convert a gold set to another format and list what that format cannot hold

    assay gold convert octocode/code.csv code.yaml --to native --corpus git:../octocode@b1771ba
    assay gold convert beir/ --to beir                      the set of assay.toml
    assay gold convert scifact/ scifact.yaml --to native    a BEIR set without a corpus: documents become files
    assay gold convert gold.yaml code.csv --to octocode     resolves symbol anchors to lines, which octocode needs
    assay gold convert repoeval.jsonl masked/ --to native --corpus repos --mask-prompts

    The format of SRC is auto-detected. OUT is a file, or a directory if the format or several sets need one.
    """,
    value(
        "words",
        "Gold file or directory, or 'stdlib' [default: that of assay.toml]; then the file or directory to write",
        nargs="+",
        metavar="[SRC] OUT",
    ),
    flag("--to FORMAT", "Write this format: native, octocode, plain, …", required=True),
    flag("--format FORMAT", "Read SRC in this format [default: auto-detected]"),
    flag("--corpus SPEC", "Use this code: directory, git:URL@REV, pypi:NAME==V, …"),
    flag("--mask-prompts", "Blank the prompts of RepoEval or CrossCodeEval in a copy of the corpus"),
    flag("--force", "Overwrite existing files"),
    usage="assay gold convert [SRC] OUT --to FORMAT [--format FORMAT] [--corpus SPEC] [--mask-prompts] [--force]",
)
command(
    "gold.sets:gold synth",
    """Generate synthetic gold sets from a repository

    Queries are derived from the code in seconds, without labeling, with line spans as targets:

      symbol    a name with one definition              -> its definition
      doc       the first sentence of a doc comment     -> the documented definition
      keyword   the rarest three words of that sentence -> the same
      commit    the subject of a commit                 -> the definitions it changed

    doc and keyword use a copy of the corpus in which those comments are blank, so that any engine can be measured.
    Synthetic sets can rank engines but do not replace queries written by people. Every report marks them.
    """,
    value("repo", "Code: directory, pypi:NAME==V, git:URL@REV, … [default: .]", nargs="?", default=".", metavar="REPO"),
    flag("--out DIR", "Write the sets there", default="gold-synth"),
    flag("--kinds LIST", "Generate these kinds, comma-separated [default: all]"),
    flag("--count N", "Generate at most N queries per kind", type=COUNT, default=40),
    flag("--max-per-file N", "Generate at most N queries per file", type=COUNT, default=4),
    flag("--seed S", "Seed the sampling", type=NUMBER, default=0),
)

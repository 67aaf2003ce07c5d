// Time and memory of engines, and the inputs of the run.

import { h } from "../../common/dom.js";
import { fixed, grouped, percent } from "../../common/format.js";
import { headColumn, numberColumn, table, textColumn } from "../../common/table.js";
import { engineTable, facts, folded, note, sentences, stack, subtitle } from "./parts.js";

export const costSection = { id: "cost", title: "Time and memory", render: renderCost };
export const inputsSection = { id: "inputs", title: "Inputs", render: renderInputs };

const MEGABYTE = 1_000_000;
const HASH_DIGITS = 12; // shown of a hash; results.json has all of them

function renderCost(data) {
  return stack(data.results.spending.length > 0 && resourcesPart(data), subtitle("Behavior"), behaviorTable(data));
}

function resourcesPart(data) {
  const { spending, header } = data.results;
  const rows = spending.map((row) => ({ ...row, name: row.engine }));
  const golds = Object.keys(header.corpora);
  const columns = withValues(resourceColumns(), rows);
  const untimed = note(data.summary.notes.times);
  if (!columns.some(({ align }) => align === "right")) return untimed ?? note("This run has no timings.");
  const byGold = golds.map((gold) =>
    numberColumn(
      gold,
      gold,
      (row) => row.index_by_gold[gold] ?? null,
      (seconds) => grouped(seconds, 2),
    ),
  );
  return [
    untimed,
    engineTable(data, { caption: "Time and memory", rows, columns }),
    note(resourcesLegend(rows, golds.length > 1)),
    note(data.summary.notes.conditions),
    golds.length > 1 &&
      folded(
        "Index time by gold set",
        engineTable(data, { caption: "Index time by gold set, in seconds", rows, columns: byGold }),
      ),
  ];
}

function withValues(columns, rows) {
  return columns.filter(({ value }) => rows.some((row) => value(row) !== null));
}

function resourceColumns() {
  const number = (id, title, value, digits, text) =>
    numberColumn(id, title, value, (amount) => grouped(amount, digits), text && { text });
  const ratio = (id) =>
    numberColumn(
      id,
      "Ratio",
      (row) => row[id],
      (times) => (times === null ? "–" : `${grouped(times, times < 10 ? 1 : 0)}×`),
      { tip: "to the fastest engine under test in this run" },
    );
  const megabytes = (bytes) => (bytes === null ? null : bytes / MEGABYTE);
  const orFailed = (value, failed) => (failed ? "failed" : grouped(value, 1));
  return [
    textColumn("version", "Version", (row) => row.version || null),
    number("startup", "Startup (s)", (row) => row.startup_seconds, 2),
    number("index", "Index (s)", (row) => row.index_seconds, 2),
    ratio("index_ratio"),
    number(
      "first",
      "First query (ms)",
      (row) => row.first_ms,
      1,
      (row) => orFailed(row.first_ms, row.first_failed),
    ),
    number("warm", "Median (ms)", (row) => row.warm_ms, 1, medianText),
    ratio("warm_ratio"),
    number(
      "p95",
      "p95 (ms)",
      (row) => row.warm_p95_ms,
      1,
      (row) => orFailed(row.warm_p95_ms, row.mostly_failed),
    ),
    number("memory", "Peak memory (MB)", (row) => megabytes(row.peak_bytes), 1),
    number("disk", "Index size (MB)", (row) => megabytes(row.index_bytes), 1),
    number("calls", "API calls", (row) => row.calls, 0),
    number("tokens", "Tokens", (row) => row.tokens, 0),
  ];
}

function medianText({ mostly_failed: failed, warm_ms: median, answered_ms: answered }) {
  if (!failed) return grouped(median, 1);
  return answered === null ? "failed" : `failed (answered: ${grouped(answered, 1)})`;
}

function resourcesLegend(rows, isMultiple) {
  const failures = rows
    .filter((row) => row.charged)
    .map((row) => `${row.engine} ${row.charged} (limit ${row.limit_seconds} s)`);
  return sentences(
    `First query: the first on ${isMultiple ? "each corpus (median)" : "the corpus"}.`,
    "Median and p95: of all other queries. 1 MB is 1,000,000 bytes.",
    "Index: on a fresh copy of the corpus. – : not measured or not reported by the engine.",
    failures.length > 0 && `Failed queries count as the timeout: ${failures.join("; ")}.`,
    isMultiple && "Startup, index time and index size are sums over gold sets.",
  );
}

function behaviorTable(data) {
  const rows = data.engines;
  const columns = [
    numberColumn("failed", "Failed", (row) => row.failed, null, {
      text: (row) => (row.failed ? `${grouped(row.failed)} of ${grouped(row.asked)}` : "0"),
    }),
    numberColumn("distinct", `Distinct files of ${data.results.k}`, (row) => row.distinct, 1),
    numberColumn("ties", "Queries with ties", (row) => row.tie_rate, percent),
    numberColumn("range", "Primary over shuffled ties", (row) => row.tie_range?.[1] ?? null, null, {
      text: ({ tie_range: range }) => range?.map((end) => fixed(end)).join(" … ") ?? "–",
    }),
    textColumn("notes", "Notes", (row) => row.notes.join("; ") || null),
  ];
  return engineTable(data, { caption: "Behavior of the engines", rows, columns: withValues(columns, rows) });
}

// --- inputs --------------------------------------------------------------------------------------------------------

function renderInputs(data) {
  const { results } = data;
  const { comparison, header } = results;
  const environment = Object.entries(header.environment ?? {}).map(([name, value]) => [
    name,
    typeof value === "object" ? JSON.stringify(value) : String(value),
  ]);
  return stack(
    corporaTable(data),
    subtitle("Analysis plan"),
    facts([
      ["Measures", results.measures.join(", ")],
      ["Primary", comparison.primary],
      ["Baseline", comparison.baseline],
      ["Results per query", String(results.k)],
      ["Margin", `±${comparison.margin}`],
      ["α", String(comparison.alpha)],
      ["Comparisons in the family", String(comparison.family_size)],
      ["Clusters", header.analysis_plan?.cluster],
      ["Resamples", `${grouped(comparison.resamples)}, seed ${comparison.seed}`],
      ["Phrasings", results.forms.join(", ")],
      ["Time limit per query", `${header.timeout} s`],
      ["Date", header.date],
      ["Assay", header.assay],
      ["Gold hash", h("code", header.gold_hash)],
    ]),
    environment.length > 0 && folded("Environment", facts(environment)),
  );
}

function corporaTable(data) {
  const { header, synthetic } = data.results;
  const repositories = new Map(data.units.map((unit) => [unit.gold, unit.repository])); // without directory hashes
  const rows = Object.entries(header.corpora).map(([gold, corpus]) => {
    return { ...corpus, gold, queries: data.queries.filter((query) => query.gold === gold).length };
  });
  const skipped = ({ skipped: files = {} }) =>
    Object.entries(files)
      .map(([reason, count]) => `${count} ${reason}`)
      .join(", ") || "none";
  const digest = (row) => row.digest.slice(0, HASH_DIGITS);
  const columns = [
    headColumn("gold", "Gold set", (row) => row.gold, {
      text: ({ gold }) => (synthetic.includes(gold) ? `${gold} (synthetic)` : gold),
    }),
    numberColumn("queries", "Queries", (row) => row.queries),
    textColumn("repository", "Repository", (row) => repositories.get(row.gold) ?? row.repository),
    textColumn("revision", "Revision", (row) => row.revision || null),
    numberColumn("files", "Files", (row) => row.files, grouped),
    textColumn("skipped", "Skipped", skipped),
    textColumn("digest", "Corpus hash", (row) => row.digest, { text: digest, cell: (row) => h("code", digest(row)) }),
  ];
  return table({ caption: "Gold sets and corpora", rows, columns });
}

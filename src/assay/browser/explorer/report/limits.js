// Limitations of the results: power, warnings, gold problems, failures, omissions. And tables that the run requested.

import { h, prose } from "../../common/dom.js";
import { grouped, percent } from "../../common/format.js";
import { headColumn, numberColumn, table, textColumn } from "../../common/table.js";
import { comparisonsOn, folded, note, stack, subtitle } from "./parts.js";

export const limitsSection = { id: "limits", title: "Limitations", render: renderLimits };
export const tablesSection = { id: "tables", title: "Requested tables", render: renderTables };

const SHOWN_PROBLEMS = 20; // rows of a table of problems; a button shows the rest

function renderLimits(data) {
  const { summary, results } = data;
  const shown = new Set();
  const sentenceList = (title, texts, tone = "") => {
    const fresh = (texts ?? []).filter((text) => !shown.has(text) && shown.add(text));
    if (!fresh.length) return null;
    return [
      subtitle(title),
      h(
        "ul.sentences",
        { class: tone },
        fresh.map((text) => h("li", prose(text))),
      ),
    ];
  };
  const skipped = Object.entries(results.skipped ?? {}).map(([engine, reason]) => ({ engine, reason }));
  return stack(
    sentenceList("Limits of the verdicts", summary.limitations),
    note(powerText(data)),
    sentenceList("Warnings", results.warnings, "warning"),
    problemTable("Gold set problems", summary.lint ?? [], [
      headColumn("gold", "Gold set", (row) => row.gold),
      textColumn("text", "Problem", (row) => row.text),
    ]),
    problemTable("Failed queries", results.failed_queries, [
      ENGINE_COLUMN,
      textColumn("kind", "Error", (row) => row.kind, { cell: (row) => h("span.bad", row.kind) }),
      QUERIES_COLUMN,
      numberColumn("share", "Share", (row) => row.share, percent),
      textColumn("message", "First message", (row) => row.message || "none"),
      textColumn("first", "Query", (row) => row.first),
    ]),
    results.failed_queries.length > 0 &&
      note("Failed queries get the worst value of every measure and count as the timeout."),
    problemTable("Contract violations", results.contract_violations, [
      ENGINE_COLUMN,
      textColumn("kind", "Violation", (row) => row.kind),
      QUERIES_COLUMN,
      numberColumn("times", "Times", (row) => row.times, null, {
        text: (row) => (row.of ? `${grouped(row.times)} of ${grouped(row.of)}` : "–"),
      }),
      textColumn("example", "Example", (row) => row.example || "–"),
    ]),
    results.contract_violations.length > 0 &&
      note("Unambiguous violations were repaired; the others were scored as returned."),
    problemTable("Path mismatches", results.path_mismatches, [
      ENGINE_COLUMN,
      textColumn("gold", "Gold set", (row) => row.gold),
      numberColumn("results", "Results", (row) => row.results),
      textColumn("returned", "Returned", (row) => row.returned),
      textColumn("there", "In the corpus", (row) => row.there),
      textColumn("cause", "Cause", (row) => row.cause),
    ]),
    problemTable("Engines not run", skipped, [ENGINE_COLUMN, textColumn("reason", "Reason", (row) => row.reason)]),
    sentenceList("Notes", results.notes),
    sentenceList(
      "Not in this file",
      summary.left_out.map(({ text }) => text),
    ),
    results.stderr.length > 0 && [
      subtitle("Engine stderr"),
      results.stderr.map(({ engine, gold, text }) =>
        folded(`${engine} on ${gold}`, h("pre.stderr", { tabindex: "0" }, text)),
      ),
    ],
  );
}

const ENGINE_COLUMN = headColumn("engine", "Engine", (row) => row.engine);
const QUERIES_COLUMN = numberColumn("queries", "Queries", (row) => row.queries);

function problemTable(title, rows, columns) {
  return rows.length > 0 && [subtitle(title), table({ caption: title, rows, columns, slice: SHOWN_PROBLEMS })];
}

function powerText(data) {
  const rows = comparisonsOn(data, data.primary).filter((row) => row.in_family);
  if (!rows.length) return "";
  const row = rows.find(({ engine }) => engine === data.results.challenger) ?? rows[0];
  const difference = `difference on ${row.measure} between ${row.engine} and ${row.baseline}`;
  const power =
    row.mde === null
      ? `No ${difference} could have been detected`
      : `A ${difference} below about ${row.mde_text} (the MDE) would probably have been missed`;
  return (
    `${power}: ${grouped(row.queries)} queries in ${grouped(row.clusters)} independent clusters ` +
    `have an effective n of ${grouped(row.effective_n)}. The verdict holds ${row.label}.`
  );
}

// --- requested tables: blocks of report/render ---------------------------------------------------------------------

const BLOCK_RENDERERS = {
  heading: (block) => subtitle(block.text),
  paragraph: (block) => h("p", { class: block.tone === "quiet" ? "note" : block.tone }, prose(block.text)),
  table: requestedTable,
};

function renderTables(data) {
  return stack((data.summary.tables ?? []).map(({ kind, block }) => BLOCK_RENDERERS[kind]?.(block)));
}

/** Render a table of texts; numbers in them are sorted as numbers. */
function requestedTable(block) {
  const columns = block.columns.map(({ title, align }, index) => ({
    id: String(index),
    title,
    align: align === "right" ? "right" : null,
    head: index === 0,
    value: (row) => sortKey(row[index].text),
    text: (row) => row[index].text,
    cell: (row) => h("span", { class: row[index].tone === "plain" ? null : row[index].tone }, row[index].text),
  }));
  const caption = block.columns.map(({ title }) => title).join(", ");
  return [table({ caption, rows: block.rows, columns }), note(block.note)];
}

/** Return the number that a text begins with, or the text; null for a dash. */
function sortKey(text) {
  if (text === "–") return null;
  const number = /^[+\-−]?\d[\d,]*(\.\d+)?/.exec(text);
  return number ? Number(number[0].replace(/,/g, "").replace("−", "-")) : text;
}

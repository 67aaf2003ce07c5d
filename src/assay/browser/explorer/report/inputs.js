// What the numbers were made with: gold sets, corpora, the claim, the machine.

import { h } from "../../common/dom.js";
import { grouped } from "../../common/format.js";
import { table } from "../../common/table.js";
import { facts, folded, stack, subtitle } from "./parts.js";

export const inputsSection = { id: "inputs", title: "Inputs", render: renderInputs };
const HASH_DIGITS = 12; // of a hash that people are shown; results.json has them all

/** Show corpora, what was declared, and where it ran. */
function renderInputs(data) {
  const { header } = data.results;
  return stack(
    corporaTable(data),
    subtitle("What was declared"),
    declared(data),
    environmentFold(header.environment ?? {}),
  );
}

/** Show one row a gold set. */
function corporaTable(data) {
  const { header, synthetic } = data.results;
  const asked = new Map();
  for (const query of data.queries) asked.set(query.gold, (asked.get(query.gold) ?? 0) + 1);
  // Names for people: without the hash of a folder.
  const called = new Map(data.units.map((unit) => [unit.gold, unit.repository]));
  const rows = Object.entries(header.corpora).map(([gold, corpus]) => ({
    gold,
    ...corpus,
    queries: asked.get(gold) ?? 0,
  }));
  const columns = [
    {
      id: "gold",
      title: "gold set",
      head: true,
      value: (row) => row.gold,
      text: (row) => (synthetic.includes(row.gold) ? `${row.gold} (synthetic)` : row.gold),
    },
    { id: "queries", title: "queries", align: "right", value: (row) => row.queries },
    { id: "repository", title: "repository", value: (row) => called.get(row.gold) ?? row.repository },
    { id: "revision", title: "revision", value: (row) => row.revision || null, text: (row) => row.revision || "–" },
    { id: "files", title: "files", align: "right", value: (row) => row.files, text: (row) => grouped(row.files) },
    { id: "skipped", title: "left out", value: skippedText },
    {
      id: "digest",
      title: "corpus hash",
      value: (row) => row.digest,
      text: (row) => row.digest.slice(0, HASH_DIGITS),
      cell: (row) => h("code", row.digest.slice(0, HASH_DIGITS)),
    },
  ];
  return table({ caption: "Gold sets and corpora", rows, columns });
}

/** Say which files of a corpus are not searched. */
function skippedText(row) {
  return (
    Object.entries(row.skipped ?? {})
      .map(([reason, count]) => `${count} ${reason}`)
      .join(", ") || "nothing"
  );
}

/** Show what the claim was. */
function declared(data) {
  const { results } = data;
  const { comparison, header } = results;
  return facts([
    ["Measures", results.measures.join(", ")],
    ["Primary", comparison.primary],
    ["Baseline", comparison.baseline],
    ["Results a query", String(results.k)],
    ["Margin", `±${comparison.margin}`],
    ["α", String(comparison.alpha)],
    ["Comparisons in the family", String(comparison.family_size)],
    ["Clusters", header.claim?.cluster],
    ["Resamples", `${grouped(comparison.resamples)}, seed ${comparison.seed}`],
    ["Forms", results.forms.join(", ")],
    ["Time limit of a query", `${header.timeout} s`],
    ["Asked on", header.date],
    ["Assay", header.assay],
    ["Gold hash", h("code", header.gold_hash)],
  ]);
}

/** Fold in what is known of the machine and its software. */
function environmentFold(environment) {
  const rows = Object.entries(environment).map(([name, value]) => [
    name,
    typeof value === "object" ? JSON.stringify(value) : String(value),
  ]);
  return rows.length > 0 && folded("Environment", facts(rows));
}

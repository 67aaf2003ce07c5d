// What could not be claimed, and all that limits what was: power, clusters, gold, alarms, failures, what is left out.

import { h, prose } from "../../common/dom.js";
import { grouped, percent } from "../../common/format.js";
import { table } from "../../common/table.js";
import { folded, note, stack, subtitle } from "./parts.js";
import { comparisonsOn } from "./words.js";

export const limitsSection = { id: "limits", title: "What could not be claimed", render: renderLimits };

/** Show every limit there is, in the order of how much it limits. */
function renderLimits(data) {
  const { summary, results } = data;
  const told = new Set();
  return stack(
    sentenceList("Limits of the claims", summary.claims, told),
    powerNote(data),
    sentenceList("Warnings and alarms", results.warnings, told, "warning"),
    lintPart(summary.lint ?? []),
    mishapsTable(results.mishaps),
    breachesTable(results.breaches),
    strayedTable(results.strayed),
    skippedTable(results.skipped ?? {}),
    sentenceList("Good to know", results.notes, told),
    sentenceList(
      "Not in this file",
      summary.left_out.map((one) => one.text),
      told,
    ),
    stderrFolds(results.stderr),
  );
}

/** List sentences under a heading, each once. */
function sentenceList(title, list, told, tone = "") {
  const fresh = (list ?? []).filter((text) => !told.has(text) && told.add(text));
  if (!fresh.length) return null;
  return [
    subtitle(title),
    h(
      "ul",
      { class: `sentences ${tone}` },
      fresh.map((text) => h("li", prose(text))),
    ),
  ];
}

/** Say what differences this set could have shown. */
function powerNote(data) {
  const rows = comparisonsOn(data, data.primary).filter((row) => row.in_family);
  if (!rows.length) return null;
  const row = rows.find((one) => one.engine === data.results.challenger) ?? rows[0];
  const pair = `between ${row.engine} and ${row.baseline}`;
  const reach =
    row.mde === null
      ? `No difference on ${row.measure} ${pair} could have been shown`
      : `A difference on ${row.measure} ${pair} below about ${row.mde_text} (the MDE) ` +
        "would probably have been missed";
  return note(
    `${reach}: ${grouped(row.queries)} queries in ${grouped(row.clusters)} independent clusters ` +
      `are worth ${grouped(row.effective_n)} independent ones. Every claim holds ${row.label}.`,
  );
}

/** Show what is wrong with the gold sets. */
function lintPart(problems) {
  if (!problems.length) return null;
  const columns = [
    { id: "gold", title: "gold set", head: true, value: (row) => row.gold },
    { id: "text", title: "problem", value: (row) => row.text },
  ];
  return [
    subtitle("Problems of the gold sets"),
    table({ caption: "Problems of the gold sets", rows: problems, columns, slice: 20 }),
  ];
}

/** Show queries that got no answer. */
function mishapsTable(rows) {
  if (!rows.length) return null;
  const columns = [
    { id: "engine", title: "engine", head: true, value: (row) => row.engine },
    { id: "kind", title: "how", value: (row) => row.kind, cell: (row) => h("span.bad", row.kind) },
    { id: "queries", title: "queries", align: "right", value: (row) => row.queries },
    { id: "share", title: "share", align: "right", value: (row) => row.share, text: (row) => percent(row.share) },
    { id: "message", title: "the first said", value: (row) => row.message || "nothing" },
    { id: "first", title: "on", value: (row) => row.first },
  ];
  return [
    subtitle("Queries without an answer"),
    table({ caption: "Queries without an answer", rows, columns, slice: 20 }),
    note("A query without an answer takes the worst value of every measure and is charged all the time it had."),
  ];
}

/** Show contracts that were broken and survived. */
function breachesTable(rows) {
  if (!rows.length) return null;
  const columns = [
    { id: "engine", title: "engine", head: true, value: (row) => row.engine },
    { id: "kind", title: "what", value: (row) => row.kind },
    { id: "queries", title: "queries", align: "right", value: (row) => row.queries },
    {
      id: "times",
      title: "times",
      align: "right",
      value: (row) => row.times,
      text: (row) => (row.of ? `${grouped(row.times)} of ${grouped(row.of)}` : "–"),
    },
    { id: "example", title: "such as", value: (row) => row.example || "–" },
  ];
  return [
    subtitle("Answers not as agreed"),
    table({ caption: "Answers not as agreed", rows, columns, slice: 20 }),
    note("Survived: what is certain was repaired, the rest was scored as it came."),
  ];
}

/** Show engines that looked elsewhere. */
function strayedTable(rows) {
  if (!rows.length) return null;
  const columns = [
    { id: "engine", title: "engine", head: true, value: (row) => row.engine },
    { id: "gold", title: "gold set", value: (row) => row.gold },
    { id: "results", title: "results", align: "right", value: (row) => row.results },
    { id: "returned", title: "returned", value: (row) => row.returned },
    { id: "there", title: "the corpus has", value: (row) => row.there },
    { id: "cause", title: "cause", value: (row) => row.cause },
  ];
  return [
    subtitle("Engines that named no file of a corpus"),
    table({ caption: "Engines that named no file of a corpus", rows, columns }),
  ];
}

/** Show engines that were not run. */
function skippedTable(skipped) {
  const rows = Object.entries(skipped).map(([engine, reason]) => ({ engine, reason }));
  if (!rows.length) return null;
  const columns = [
    { id: "engine", title: "engine", head: true, value: (row) => row.engine },
    { id: "reason", title: "why", value: (row) => row.reason },
  ];
  return [subtitle("Engines that were not run"), table({ caption: "Engines that were not run", rows, columns })];
}

/** Fold in what engines wrote to stderr. */
function stderrFolds(list) {
  if (!list.length) return null;
  return [
    subtitle("What engines wrote to stderr"),
    list.map((said) => folded(`${said.engine} on ${said.gold}`, h("pre.said", { tabindex: "0" }, said.text))),
  ];
}

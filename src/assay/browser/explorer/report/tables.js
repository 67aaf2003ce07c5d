// Tables that a run asked for beside the usual ones, as other documents show them: blocks of report/pages/document.py.

import { h, prose } from "../../common/dom.js";
import { table } from "../../common/table.js";
import { forest } from "../charts/forest.js";
import { linearAxis } from "../charts/marks.js";
import { note, stack, subtitle } from "./parts.js";
import { meanText } from "./words.js";

export const tablesSection = { id: "tables", title: "Tables that were asked for", render: renderTables };

/** Show the blocks one below the other. */
function renderTables(data) {
  return stack((data.summary.tables ?? []).map(({ kind, block }) => WANTED_BLOCKS[kind]?.(block)));
}

const WANTED_BLOCKS = {
  heading: (block) => subtitle(block.text),
  paragraph: (block) => h("p", { class: block.tone === "quiet" ? "note" : block.tone }, prose(block.text)),
  table: wantedTable,
  forest: wantedForest,
};

/** Show a table of texts; numbers in them are sorted as numbers. */
function wantedTable(block) {
  const columns = block.columns.map(({ title, align }, place) => ({
    id: String(place),
    title,
    align: align === "right" ? "right" : null,
    head: place === 0,
    value: (row) => sortKey(row[place].text),
    text: (row) => row[place].text,
    cell: (row) => h("span", { class: row[place].tone === "plain" ? null : row[place].tone }, row[place].text),
  }));
  return [
    table({ caption: block.columns.map((one) => one.title).join(", "), rows: block.rows, columns }),
    note(block.note),
  ];
}

/** Give the number that a text begins with, or the text; a dash is nothing. */
function sortKey(text) {
  if (text === "–") return null;
  const found = /^[+\-−]?\d[\d,]*(\.\d+)?/.exec(text);
  return found ? Number(found[0].replace(/,/g, "").replace("−", "-")) : text;
}

/** Draw estimates. */
function wantedForest(block) {
  const rows = block.estimates.map((one) => ({
    name: one.label,
    value: one.value,
    low: one.low,
    high: one.high,
    tone: one.tone,
    text: meanText(one.value, one.low, one.high),
  }));
  return forest({
    label: "Estimates with their intervals",
    rows,
    axis: linearAxis(block.low, block.high),
    line: block.line ?? undefined,
  });
}

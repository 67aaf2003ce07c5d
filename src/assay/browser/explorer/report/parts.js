// Pieces that several sections are made of: notes, names, columns, facts, what is folded away.

import { h, prose } from "../../common/dom.js";
import { queryHref } from "../parts.js";
import { measureOf, roleOf, shownName, toneSign } from "./words.js";

/** Write a quiet sentence under a table or a chart. */
export function note(text) {
  return text ? h("p.note", prose(text)) : null;
}

/** Write the heading of a part of a section. */
export function subtitle(text) {
  return h("h3", text);
}

/** Name an engine in a cell, with what it is in this run. */
function engineCell(data, name) {
  const facts = data.engines[data.engineIndex(name)];
  const role = roleOf(data, name);
  return [
    h("span.engine-name", name),
    role && [" ", h("span.role", role)],
    facts?.answered_nothing && [" ", h("span.role.bad", "failed")],
  ];
}

/** Make the column of names, for every table that has a row an engine. */
export function engineColumn(data) {
  return {
    id: "engine",
    title: "engine",
    head: true,
    value: (row) => row.name,
    text: (row) => shownName(data, row.name),
    cell: (row) => engineCell(data, row.name),
  };
}

/** Name a query with its text, linked to its page. */
export function queryCell(data, unit, params = {}) {
  return h("span.query-cell", [
    h("a", { href: queryHref(unit, params) }, unit.query.id),
    data.golds.length > 1 && h("span.of-gold", unit.gold),
    h("span.query-text", unit.text),
  ]);
}

/** Say which side is good. */
export function sideText(data, measure) {
  return measureOf(data, measure).higher ? "right is better" : "left is better";
}

/** Write words in a tone, with a sign for those who do not see colours. */
export function toned(tone, text, sign = toneSign(tone)) {
  return h("span", { class: `toned ${tone}` }, h("span.sign", { "aria-hidden": "true" }, sign), " ", text);
}

/** Show facts as large figures with what they are below: [{value, label, small, tone}]. */
export function figures(list) {
  return h("dl.figures", [
    list
      .filter(Boolean)
      .map((one) =>
        h("div", { class: `figure ${one.tone ?? ""}` }, [
          h("dt", one.label),
          h("dd", h("span.figure-value", one.value), one.small && h("span.figure-small", one.small)),
        ]),
      ),
  ]);
}

/** Show facts as a list of names and values; what has no value is left out. */
export function facts(list) {
  const kept = list.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false);
  return h(
    "dl.facts",
    kept.map(([name, value]) => [h("dt", name), h("dd", value)]),
  );
}

/** Fold something away behind its title. */
export function folded(title, ...content) {
  return h("details.folded", h("summary", title), content);
}

/** Put parts below each other; null where there is none. */
export function stack(...parts) {
  const kept = parts.flat().filter(Boolean);
  return kept.length ? h("div.stack", kept) : null;
}

// The top of a query's page: its text, where it comes from, its other phrasings, and the way to its neighbours.

import { h } from "../../common/dom.js";
import { fixed, grouped } from "../../common/format.js";
import { pairOf } from "../pairs.js";
import { queriesHref, queryHref } from "../links.js";

/** Draw the top of the page; `way` has the neighbours in the list. */
export function queryHead(view, way, copy) {
  const { unit } = view;
  return h("header.query-head", [
    wayBar(view, way, copy),
    h("p.kicker", [
      `${unit.gold} / ${unit.query.id}`,
      unit.query.line ? ` · line ${unit.query.line} of its gold file` : null,
    ]),
    h("h1", unit.text),
    queryChips(unit),
    phrasingLinks(view),
  ]);
}

/** Link to the list and to the queries before and after. */
function wayBar({ params }, way, copy) {
  const place = way.at < 0 ? "not in this list" : `${grouped(way.at + 1)} of ${grouped(way.total)}`;
  return h("nav.way", { "aria-label": "Queries" }, [
    h("a", { href: queriesHref({ ...params, engines: null }) }, "← All queries"),
    h("span.note", place),
    stepLink(way.before, params, "Previous", "k"),
    stepLink(way.after, params, "Next", "j"),
    h("span.spacer"),
    copy,
  ]);
}

/** Link to a neighbour; where there is none, say the word only. */
function stepLink(unit, params, word, key) {
  if (!unit) return h("span.soft.step", word);
  return h("a.step", { href: queryHref(unit, params), rel: word === "Next" ? "next" : "prev" }, [
    word,
    " ",
    h("kbd", { "aria-hidden": "true" }, key),
  ]);
}

/** Show what the query is labelled with. */
function queryChips(unit) {
  const tags = Object.entries(unit.query.tags).map(([name, value]) => h("li.chip", `${name}: ${value}`));
  const leak = unit.leak
    ? h("li.badge.warn", { title: "The words of the headline hold part of the answer's path or symbol" }, [
        "leak: part of the answer's name is in the words",
      ])
    : null;
  return h("ul.chips", { "aria-label": "Labels" }, h("li.chip", `repository: ${unit.repository}`), tags, leak);
}

/** Link to the other phrasings of the intent, with how both engines do on them. */
function phrasingLinks({ data, unit, params }) {
  if (unit.query.units.length < 2) return h("p.note", `Phrasing: ${unit.form}`);
  const pair = pairOf(data, params);
  const items = unit.query.units
    .map((index) => data.units[index])
    .map((other) => {
      const values = [pair.a, pair.b]
        .map((engine) => fixed(data.value(engine, pair.measure.name, other.index), 2))
        .join(" → ");
      const here = other === unit;
      return h("li", [
        h("a", { href: queryHref(other, params), "aria-current": here ? "page" : null, title: other.text }, other.form),
        h("span.note", values),
      ]);
    });
  return h("nav.phrasings", { "aria-label": "Phrasings" }, [
    h("ul", items),
    h("span.note", `${pair.measure.name}, ${data.engines[pair.a].name} → ${data.engines[pair.b].name}`),
  ]);
}

// What is right for a query, what only seems so, and why.

import { h } from "../../common/dom.js";

const GRADE_NAMES = { 2: "primary", 1: "secondary" };

/** Name a grade. */
export function gradeName(grade) {
  return GRADE_NAMES[grade] ?? `grade ${grade}`;
}

/** Draw what the gold set says. */
export function goldPanel(data, unit) {
  const { query } = unit;
  return h("section.card.gold-panel", { "aria-labelledby": "gold-title" }, [
    h("h2", { id: "gold-title" }, "What is right"),
    h("ul.places", [
      query.targets.map((target) =>
        h("li", [
          h("span.badge.good", `✓ ${gradeName(target.grade)}`),
          " ",
          h("code", target.anchor),
          targetLines(target),
        ]),
      ),
    ]),
    queryAdversaries(query),
    queryReasons(query.rationale),
    query.measures.length ? h("p.note", `Asked to be judged by ${query.measures.join(", ")}.`) : null,
  ]);
}

/** Say where a symbol stands. */
function targetLines(target) {
  return target.symbol && target.start ? h("span.note", ` lines ${target.start}–${target.end}`) : null;
}

/** List the plausible wrong answers. */
function queryAdversaries(query) {
  if (!query.adversaries.length) return null;
  return [
    h("h3", "What only seems right"),
    h("ul.places", [
      query.adversaries.map((one) =>
        h("li", [
          h("span.badge.bad", `✗ ${one.relationship}`),
          " ",
          h("code", one.anchor),
          " ",
          h("span.note", [one.strength, one.confusion].filter(Boolean).join(": ")),
        ]),
      ),
    ]),
  ];
}

/** Give the reasons of who wrote the query. */
function queryReasons(why) {
  const parts = why
    ? [
        ["Owner", why.owner],
        ["Reason", why.reason],
        ["Boundary", why.boundary],
      ].filter(([, text]) => text)
    : [];
  if (!parts.length) return null;
  return h(
    "dl.rationale",
    parts.map(([name, text]) => [h("dt", name), h("dd", text)]),
  );
}

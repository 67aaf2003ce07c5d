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
  return h(
    "section",
    { class: "card gold-panel", "aria-labelledby": "gold-title" },
    h("h2", { id: "gold-title" }, "What is right"),
    h(
      "ul",
      { class: "places" },
      query.targets.map((target) =>
        h(
          "li",
          null,
          h("span", { class: "badge good" }, `✓ ${gradeName(target.grade)}`),
          " ",
          h("code", null, target.anchor),
          targetLines(target),
        ),
      ),
    ),
    queryAdversaries(query),
    queryReasons(query.rationale),
    query.measures.length ? h("p", { class: "note" }, `Asked to be judged by ${query.measures.join(", ")}.`) : null,
  );
}

/** Say where a symbol stands. */
function targetLines(target) {
  return target.symbol && target.start ? h("span", { class: "note" }, ` lines ${target.start}–${target.end}`) : null;
}

/** List the plausible wrong answers. */
function queryAdversaries(query) {
  if (!query.adversaries.length) return null;
  return [
    h("h3", null, "What only seems right"),
    h(
      "ul",
      { class: "places" },
      query.adversaries.map((one) =>
        h(
          "li",
          null,
          h("span", { class: "badge bad" }, `✗ ${one.relationship}`),
          " ",
          h("code", null, one.anchor),
          " ",
          h("span", { class: "note" }, [one.strength, one.confusion].filter(Boolean).join(": ")),
        ),
      ),
    ),
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
    "dl",
    { class: "rationale" },
    parts.map(([name, text]) => [h("dt", null, name), h("dd", null, text)]),
  );
}

// How far reviewers agree, beyond chance.

import { fill, h } from "../common/dom.js";
import { counted, fixed, percent } from "../common/format.js";
import { table } from "../common/table.js";
import { behindCurtain } from "./curtain.js";

/** Show the agreement on each kind of item. */
export function agreementView(session, main) {
  return behindCurtain(session, main, "agreement", (page, answer) =>
    fill(
      page,
      h("h1", "Agreement"),
      h("p.soft", [
        "Votes that say unsure count as missing. Only votes from before an item was settled are taken, and from " +
          "before their reviewer saw what others said: after that nobody is blind. " +
          "Intervals: 95 %, bootstrap over items.",
      ]),
      answer.kinds.length ? answer.kinds.map(kindSection) : h("p", "Nobody has voted yet."),
    ),
  );
}

/** Show one kind: a sentence, the coefficients, what each pair said. */
function kindSection(kind) {
  const anew = kind.changed
    ? ` ${counted(kind.changed, "vote")} cast anew after a look at those of others: the ones from before are taken.`
    : "";
  const share = kind.percent === null ? "" : ` ${percent(kind.percent)} of the pairs of votes agree.`;
  return h("section.report-section", [
    h("h2", `Items of kind ${kind.kind}`),
    h("p", [
      `${counted(kind.items, "item")} with two votes or more, ${counted(kind.votes, "vote")}, ` +
        `${kind.unsure} unsure.${share}${anew}`,
    ]),
    table({
      caption: `Agreement on ${kind.kind}`,
      columns: COEFFICIENT_COLUMNS,
      rows: coefficientRows(kind),
      empty: "Two reviewers must have voted on the same items.",
    }),
    h(
      "div.columns",
      kind.pairs.map((pair) => confusionTable(kind, pair)),
    ),
  ]);
}

const COEFFICIENT_COLUMNS = [
  { id: "name", title: "Coefficient", value: (row) => row.name, head: true },
  {
    id: "value",
    title: "Value",
    value: (row) => row.value,
    text: (row) => fixed(row.value),
    align: "right",
    tip: "A dash: everybody said the same, which chance would have done as well",
  },
  {
    id: "interval",
    title: "Interval",
    value: (row) => row.low,
    text: (row) => (row.value === null ? "" : `${fixed(row.low)} to ${fixed(row.high)}`),
    align: "right",
    fixed: true,
  },
  { id: "items", title: "Items", value: (row) => row.items, text: (row) => String(row.items), align: "right" },
];

/** List the coefficients of a kind. */
function coefficientRows(kind) {
  const rows = Object.entries(kind.alpha).map(([metric, value]) => ({
    name: `Krippendorff's α (${metric})`,
    ...value,
  }));
  for (const pair of kind.pairs) {
    rows.push({ name: `Cohen's κ: ${pair.first}, ${pair.second}`, ...pair.kappa });
    if (pair.weighted) rows.push({ name: `κ with squared weights: ${pair.first}, ${pair.second}`, ...pair.weighted });
  }
  return rows;
}

/** Show what two reviewers said of the same items. */
function confusionTable(kind, pair) {
  return h("div.card", [
    h("table.confusion", { "aria-label": `What ${pair.first} and ${pair.second} said` }, [
      h("thead", [
        h("tr", [
          h("th", { scope: "col" }, `${pair.first} ↓ ${pair.second} →`),
          kind.values.map((value) => h("th.right", { scope: "col" }, value)),
        ]),
      ]),
      h("tbody", [
        pair.table.map((row, from) =>
          h("tr", [
            h("th", { scope: "row" }, kind.values[from]),
            row.map((count, to) => h("td", { class: `right${from === to ? " same" : ""}` }, String(count))),
          ]),
        ),
      ]),
    ]),
  ]);
}

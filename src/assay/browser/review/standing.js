// Where the review stands: items by state, votes by reviewer, and what would become gold now.

import { fill, h } from "../common/dom.js";
import { counted } from "../common/format.js";
import { table } from "../common/table.js";
import { ask } from "./asking.js";
import { behindCurtain } from "./curtain.js";
import { troubleNote } from "./frame.js";

const STATE_WORDS = {
  open: "nobody voted",
  waiting: "another vote is needed",
  agreed: "reviewers say the same",
  disputed: "to be adjudicated",
  decided: "a third person decided",
  accepted: "in the set",
  rejected: "turned down",
};

/** Show the status. */
export function standingView(session, main) {
  return behindCurtain(session, main, "standing", (page, { tally, least }) =>
    fill(
      page,
      h("h1", "Status"),
      h("p.soft", [
        `${counted(tally.items, "item")}. Settled: at least ${least} say the same, or a third person decided.`,
      ]),
      h("div.columns", stateTable(tally), reviewerTable(tally)),
      acceptedSection(session),
    ),
  );
}

/** Count the items by state and kind. */
function stateTable(tally) {
  const kinds = Object.keys(tally.kinds);
  const columns = [
    { id: "state", title: "State", value: (row) => row.state, head: true },
    { id: "means", title: "Means", value: (row) => STATE_WORDS[row.state], fixed: true },
    { id: "items", title: "Items", value: (row) => row.count, text: (row) => String(row.count), align: "right" },
    ...(kinds.length > 1
      ? kinds.map((kind) => ({
          id: kind,
          title: kind,
          value: (row) => tally.kinds[kind][row.state] ?? 0,
          text: (row) => String(tally.kinds[kind][row.state] ?? 0),
          align: "right",
        }))
      : []),
  ];
  return table({
    caption: "Items by state",
    columns,
    rows: Object.entries(tally.states).map(([state, count]) => ({ state, count })),
  });
}

/** Count the votes by reviewer. */
function reviewerTable(tally) {
  const columns = [
    { id: "name", title: "Reviewer", value: (row) => row.name, head: true },
    { id: "readers", title: "Reader", value: (row) => row.readers },
    { id: "votes", title: "Votes", value: (row) => row.votes, text: (row) => String(row.votes), align: "right" },
    { id: "open", title: "Open", value: (row) => row.open, text: (row) => String(row.open), align: "right" },
  ];
  return table({ caption: "Votes by reviewer", columns, rows: tally.reviewers, empty: "Nobody has voted yet." });
}

/** Show what would be accepted; it takes the server a while, for it lints the whole set. */
function acceptedSection(session) {
  const box = h("div", h("p.note", "Working it out…"));
  ask("accepted", { as: session.name }).then(
    (answer) => fill(box, acceptedTables(answer, session.about.values)),
    (error) => fill(box, troubleNote(error)),
  );
  return h("section.report-section", [
    h("h2", "What would be accepted now"),
    h("p.note", "Nothing is written into the set here: ", h("code", `assay gold review ${session.about.set} --accept`)),
    box,
  ]);
}

/** List what would be accepted, and what could not be. */
function acceptedTables({ taken, refused }, meanings) {
  const columns = [
    {
      id: "query",
      title: "Query",
      value: (row) => `${row.query} ${row.headline}`,
      cell: (row) => [row.query, h("span.asks-below", row.headline)],
      head: true,
    },
    { id: "anchor", title: "Place", value: (row) => row.anchor, cell: (row) => h("span.mono", row.anchor) },
    { id: "value", title: "Becomes", value: (row) => row.value, text: (row) => meanings[row.value].outcome },
    { id: "by", title: "By", value: (row) => row.by.join(", ") },
  ];
  return [
    table({
      caption: "Would be accepted",
      columns,
      rows: taken,
      empty: "Nothing is settled that is not in the set already.",
    }),
    refused.length
      ? [
          h("h3", "Left out"),
          h(
            "ul",
            refused.map((one) => h("li", h("strong", one.query), ": ", one.reason)),
          ),
        ]
      : null,
  ];
}

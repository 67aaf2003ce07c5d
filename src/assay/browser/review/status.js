// Views that show the votes of others: agreement and status. Reviewers see them after their last vote, or stop voting.

import { fill, h } from "../common/dom.js";
import { counted, fixed, percent } from "../common/format.js";
import { headColumn, numberColumn, table, textColumn } from "../common/table.js";
import { get, getPatiently, isOpen, post, refreshQueue, troubleNote } from "./session.js";

/** Request what only unblinded reviewers may see and draw it; a blinded reviewer sees why not. Return what ends it. */
export function unblindedView(session, main, name, draw) {
  const page = h("div.page");
  let isWanted = true;
  fill(main, page);
  const wanted = () => isWanted;

  /** Load the view; if the server refuses, the queue may have new items: refresh it and try once more. */
  async function load(isLastAttempt = false) {
    const open = session.adjudicates ? 0 : session.items.filter((item) => isOpen(session, item)).length;
    if (open) return fill(page, blindedNote(session, open, stopVoting));
    fill(page, h("p.note", "Loading…"));
    const waiting = (error) => fill(page, troubleNote(error));
    try {
      const answer = await getPatiently(name, { as: session.name }, { wanted, waiting });
      return isWanted && draw(page, answer);
    } catch (error) {
      if (!isWanted) return undefined;
      if (isLastAttempt || error.kind !== "refused") return waiting(error);
      return refreshQueue(session).then(
        () => load(true),
        () => waiting(error),
      );
    }
  }

  async function stopVoting() {
    try {
      await post("give-up", { as: session.name });
      session.adjudicates = true;
      await load();
    } catch (error) {
      fill(page, troubleNote(error));
    }
  }

  load();
  return () => {
    isWanted = false;
  };
}

function blindedNote(session, open, stopVoting) {
  return h("div.card.blinded", [
    h("h1", "Locked while you vote"),
    h("p", [
      `${counted(open, "item")} ${open === 1 ? "is" : "are"} open for you. `,
      "This view shows the votes of others. It opens after your last vote.",
    ]),
    h("p", "Adjudicators can see all votes now. They decide disputed items and can no longer vote."),
    h("button", { onclick: stopVoting }, "I adjudicate and do not vote"),
    h("p.note", [
      "To see the status without voting or adjudicating, use the terminal: ",
      h("code", `assay gold review ${session.about.set} --status`),
    ]),
  ]);
}

// --- agreement -----------------------------------------------------------------------------------------------------

export function agreementView(session, main) {
  return unblindedView(session, main, "agreement", (page, { kinds }) =>
    fill(page, [
      h("h1", "Agreement"),
      h("p.soft", [
        "“Unsure” counts as missing. Only blinded votes count: those cast before the item was settled and before the ",
        "reviewer saw other votes. Intervals: 95%, bootstrap over items.",
      ]),
      kinds.length ? kinds.map(agreementSection) : h("p", "No votes yet."),
    ]),
  );
}

function agreementSection(kind) {
  const share = kind.percent === null ? "" : ` ${percent(kind.percent)} of the pairs of votes agree.`;
  const changed = kind.changed
    ? ` ${counted(kind.changed, "vote")} changed after unblinding: the earlier ones count.`
    : "";
  const summary =
    `${counted(kind.items, "item")} with two votes or more, ${counted(kind.votes, "vote")}, ` +
    `${kind.unsure} unsure.${share}${changed}`;
  return h("section.report-section", [
    h("h2", `Items of kind ${kind.kind}`),
    h("p", summary),
    table({
      caption: `Agreement on ${kind.kind}`,
      columns: [
        headColumn("name", "Coefficient", (row) => row.name),
        numberColumn("value", "Value", (row) => row.value, 3, {
          tip: "A dash: undefined, because all votes are equal",
        }),
        numberColumn("interval", "Interval", (row) => row.low, null, {
          fixed: true,
          text: (row) => (row.value === null ? "" : `${fixed(row.low)} to ${fixed(row.high)}`),
        }),
        numberColumn("items", "Items", (row) => row.items),
      ],
      rows: coefficientRows(kind),
      empty: "Two reviewers must have voted on the same items.",
    }),
    h(
      "div.columns",
      kind.pairs.map((pair) => confusionTable(kind.values, pair)),
    ),
  ]);
}

function coefficientRows({ alpha, pairs }) {
  const overall = Object.entries(alpha).map(([metric, value]) => ({ name: `Krippendorff's α (${metric})`, ...value }));
  const pairwise = pairs.flatMap(({ first, second, kappa, weighted }) => [
    { name: `Cohen's κ: ${first}, ${second}`, ...kappa },
    weighted && { name: `κ with squared weights: ${first}, ${second}`, ...weighted },
  ]);
  return [...overall, ...pairwise.filter(Boolean)];
}

/** Render how often two reviewers gave each pair of values. */
function confusionTable(values, { first, second, table: counts }) {
  const head = h("tr", [
    h("th", { scope: "col" }, `${first} ↓ ${second} →`),
    values.map((value) => h("th.right", { scope: "col" }, value)),
  ]);
  const rows = counts.map((row, from) =>
    h("tr", [
      h("th", { scope: "row" }, values[from]),
      row.map((count, to) => h("td.right", { class: from === to && "same" }, String(count))),
    ]),
  );
  const label = `Votes of ${first} and ${second}`;
  return h("div.card", h("table.confusion", { "aria-label": label }, h("thead", head), h("tbody", rows)));
}

// --- status --------------------------------------------------------------------------------------------------------

const STATE_MEANINGS = {
  open: "no votes",
  waiting: "needs another vote",
  agreed: "reviewers agree",
  disputed: "to be adjudicated",
  decided: "decided by a third person",
  accepted: "in the set",
  rejected: "rejected by reviewers",
};

export function statusView(session, main) {
  return unblindedView(session, main, "standing", (page, { tally, least }) =>
    fill(page, [
      h("h1", "Status"),
      h("p.soft", `${counted(tally.items, "item")}. Settled: ${least} or more votes agree, or an adjudicator decided.`),
      h("div.columns", stateTable(tally), reviewerTable(tally)),
      acceptedSection(session),
    ]),
  );
}

function stateTable({ states, kinds }) {
  const names = Object.keys(kinds);
  const byKind = names.map((kind) => numberColumn(kind, kind, (row) => kinds[kind][row.state] ?? 0));
  return table({
    caption: "Items by state",
    columns: [
      headColumn("state", "State", (row) => row.state),
      textColumn("means", "Meaning", (row) => STATE_MEANINGS[row.state], { fixed: true }),
      numberColumn("items", "Items", (row) => row.count),
      ...(names.length > 1 ? byKind : []),
    ],
    rows: Object.entries(states).map(([state, count]) => ({ state, count })),
  });
}

function reviewerTable({ reviewers }) {
  const columns = [
    headColumn("name", "Reviewer", (row) => row.name),
    textColumn("readers", "Reader", (row) => row.readers),
    numberColumn("votes", "Votes", (row) => row.votes),
    numberColumn("open", "Open", (row) => row.open),
  ];
  return table({ caption: "Votes by reviewer", columns, rows: reviewers, empty: "No votes yet." });
}

/** Render what `--accept` would write; the server lints the whole set for it, which takes a while. */
function acceptedSection(session) {
  const { set, values } = session.about;
  const box = h("div", h("p.note", "Checking the set…"));
  get("accepted", { as: session.name }).then(
    (answer) => fill(box, acceptedTables(answer, values)),
    (error) => fill(box, troubleNote(error)),
  );
  return h("section.report-section", [
    h("h2", "Ready to accept"),
    h("p.note", "This page does not write to the set. Use ", h("code", `assay gold review ${set} --accept`)),
    box,
  ]);
}

function acceptedTables({ taken, refused }, meanings) {
  const columns = [
    headColumn("query", "Query", (row) => `${row.query} ${row.headline}`, {
      cell: (row) => [row.query, h("span.headline-below", row.headline)],
    }),
    textColumn("anchor", "Target", (row) => row.anchor, { cell: (row) => h("span.mono", row.anchor) }),
    textColumn("value", "Becomes", (row) => row.value, { text: (row) => meanings[row.value].outcome }),
    textColumn("by", "By", (row) => row.by.join(", ")),
  ];
  return [
    table({ caption: "Ready to accept", columns, rows: taken, empty: "All settled items are already in the set." }),
    refused.length > 0 && [
      h("h3", "Left out"),
      h(
        "ul",
        refused.map(({ query, reason }) => h("li", h("strong", query), ": ", reason)),
      ),
    ],
  ];
}

// Paired differences from the baseline: the forest plot, the table, and wins and losses query by query.

import { h } from "../../common/dom.js";
import { counted, percent, signed } from "../../common/format.js";
import { headColumn, numberColumn, table, textColumn } from "../../common/table.js";
import { forest } from "../charts/forest.js";
import { linearAxis, splitBar } from "../charts/marks.js";
import { pairOf, rowOf } from "../pairs.js";
import { queriesHref } from "../parts.js";
import {
  betterSide, chooser, comparisonsOn, decidingP, differenceText, engineColumn, measureOf, note, pText, queryCell,
  rankedNames, sentences, shownName, signedInterval, stack, subtitle, verdictText, withoutReferences,
} from "./parts.js";

export const differencesSection = { id: "differences", title: "Differences", render: renderDifferences };
export const winsSection = { id: "wins", title: "Wins and losses", render: renderWins };

const SHOWN_CHANGES = 12; // rows: one screen; a button shows the rest
const FAMILY_LEGEND =
  "“better” and “worse” require Holm's p; “equivalent” and “not inferior” are read from the 90% interval, " +
  "which allows for unseen differences. d_z: the difference in standard deviations of the differences. " +
  "Worse: the share of queries that got worse. ICC: how similar queries of one cluster are. " +
  "Effective n: the number of independent queries with the same precision. MDE: minimum detectable effect.";
const SECONDARY_LEGEND =
  "Secondary measures have no verdict, and their p-values are not adjusted. They help to understand the primary one.";

function renderDifferences(data) {
  const { failed, notes } = data.results.comparison;
  const measures = data.results.measures.filter((name) => comparisonsOn(data, name).length);
  if (!measures.length) return null;
  const options = measures.map((name) => [name, name === data.primary ? `${name} (primary)` : name]);
  const failures = failed.length > 0 && `Not compared because every query failed: ${failed.join(", ")}.`;
  return stack(
    chooser("differences", { measure: measures[0] }, [{ key: "measure", label: "Measure", options }], ({ measure }) =>
      differencesOn(data, measure),
    ),
    note(sentences(failures, ...notes)),
  );
}

function differencesOn(data, measure) {
  const direction = measureOf(data, measure).higher ? 1 : -1;
  const rows = comparisonsOn(data, measure).sort(
    (a, b) => direction * (b.difference - a.difference) || (a.engine < b.engine ? -1 : 1),
  );
  return [
    differencesForest(data, measure, withoutReferences(data, rows)),
    differencesTable(data, rows),
    note(measure === data.primary ? FAMILY_LEGEND : SECONDARY_LEGEND),
  ];
}

/** Draw the differences around zero, with the margin on the primary measure. */
function differencesForest(data, measure, rows) {
  const { margin, baseline } = data.results.comparison;
  const isPrimary = measure === data.primary;
  const ends = rows.flatMap(({ interval }) => [Math.abs(interval.low), Math.abs(interval.high)]);
  const reach = Math.max(...ends, isPrimary ? margin : 0);
  return forest({
    label: `Differences on ${measure} from ${baseline}, with ${percent(rows[0].interval.level)} intervals`,
    axis: linearAxis(-reach, reach, { count: 6 }),
    rows: rows.map(differenceRow),
    line: 0,
    lineName: `same as ${baseline}`,
    band: isPrimary ? [-margin, margin] : null,
    bandName: `within the margin of ±${margin}`,
    side: betterSide(data, measure),
    format: (tick) => (tick === 0 ? "0" : signed(tick, 2)),
  });
}

function differenceRow(row) {
  const verdict = row.verdict ? `, ${row.verdict_text}` : "";
  return {
    name: row.engine,
    value: row.difference,
    ...row.interval,
    tone: row.tone,
    text: [differenceText(row), row.verdict && [" ", verdictText(row)]],
    tip:
      `${row.engine} against ${row.baseline}: ${differenceText(row)}${verdict}; ` +
      `p ${pText(decidingP(row))}; MDE ${row.mde_text}`,
  };
}

function differencesTable(data, rows) {
  const [{ interval, equivalence, queries }] = rows;
  const columns = [
    headColumn("engine", "Engine", (row) => row.engine),
    rows.some((row) => row.verdict) &&
      textColumn("verdict", "Verdict", (row) => row.verdict_text, {
        cell: (row) => (row.verdict ? verdictText(row) : "–"),
      }),
    numberColumn("difference", `Difference (${percent(interval.level)} CI)`, (row) => row.difference, null, {
      text: differenceText,
    }),
    numberColumn("p", "p", decidingP, pText, { tip: "adjusted by Holm inside the family" }),
    numberColumn("mde", "MDE", (row) => row.mde, null, { text: (row) => row.mde_text }),
    numberColumn("wins", "Better/same/worse", (row) => row.wins - row.losses, null, {
      text: (row) => `${row.wins}/${row.ties}/${row.losses}`,
    }),
    numberColumn("worse_share", "Worse (%)", (row) => row.worse_share, percent, {
      tip: "share of queries that got worse",
    }),
    numberColumn("narrow", `${percent(equivalence.level)} CI`, (row) => row.equivalence.low, null, {
      text: (row) => signedInterval(row.equivalence),
      tip: "the interval that decides equivalence",
    }),
    numberColumn("d_z", "d_z", (row) => row.d_z, 2),
    numberColumn("icc", "ICC", (row) => row.icc, 2),
    numberColumn("n", "Effective n", (row) => row.effective_n, 0, {
      tip: `of ${counted(queries, "query", "queries")}`,
    }),
  ].filter(Boolean);
  return table({ caption: `Comparisons with ${data.results.comparison.baseline}`, rows, columns });
}

// --- wins and losses -----------------------------------------------------------------------------------------------

function renderWins(data) {
  if (data.engines.length < 2) return null;
  const rows = withoutReferences(data, comparisonsOn(data, data.primary));
  return stack(rows.length > 0 && balanceTable(data, rows), pairPart(data));
}

function balanceTable(data, rows) {
  const { baseline } = data.results.comparison;
  const columns = [
    engineColumn(data),
    textColumn("bar", "Worse | same | better", () => null, {
      fixed: true,
      text: (row) => `${row.losses} | ${row.ties} | ${row.wins}`,
      cell: balanceBar,
    }),
    numberColumn("losses", "Worse", (row) => row.losses),
    numberColumn("ties", "Same", (row) => row.ties),
    numberColumn("wins", "Better", (row) => row.wins),
    numberColumn("worse_share", "Worse (%)", (row) => row.worse_share, percent),
  ];
  return [
    table({
      caption: `Wins and losses against ${baseline} on ${data.primary}`,
      rows: rows.map((row) => ({ ...row, name: row.engine })),
      columns,
      sort: { id: "wins", descending: true },
    }),
    note(`Numbers of queries, compared with ${baseline} on ${data.primary}.`),
  ];
}

function balanceBar({ engine, losses, ties, wins }) {
  const part = (value, word, tone) => ({ value, class: tone, tip: `${word} on ${counted(value, "query", "queries")}` });
  const parts = [part(losses, "worse", "loss"), part(ties, "the same", "tie"), part(wins, "better", "win")];
  return splitBar(parts, `${engine}: ${losses} worse, ${ties} the same, ${wins} better`);
}

/** List the queries of two engines; engines and measure can be chosen. */
function pairPart(data) {
  const names = rankedNames(data);
  const options = names.map((name) => [name, shownName(data, name)]);
  const a = data.engines[data.baselineIndex].name;
  const challenger = data.engines[data.challengerIndex].name;
  const b = challenger === a ? names.find((name) => name !== a) : challenger;
  const choices = [
    { key: "b", label: "Engine", options },
    { key: "a", label: "against", options },
    { key: "measure", label: "on", options: data.results.measures.map((name) => [name, name]) },
  ];
  return [
    subtitle("Query by query, worst regressions first"),
    chooser("wins", { a, b, measure: data.primary }, choices, (state) => pairTable(data, state)),
  ];
}

function pairTable(data, state) {
  const pair = pairOf(data, state);
  if (pair.a === pair.b) return note("Choose two different engines.");
  const params = { a: data.engines[pair.a].name, b: data.engines[pair.b].name, measure: pair.measure.name };
  const rows = data.headlines.map((unit) => rowOf(data, pair, unit)).filter((row) => row.outcome);
  const changed = rows.filter((row) => row.outcome !== "tie");
  const ownDifference = (row) => signed(row.b - row.a);
  const columns = [
    headColumn("query", "Query", (row) => row.unit.query.id, { cell: (row) => queryCell(data, row.unit, params) }),
    // Sorted by what is better, shown in the measure's own direction.
    numberColumn("difference", "Difference", (row) => row.difference, null, {
      text: ownDifference,
      first: "ascending",
      cell: (row) => {
        const [tone, sign] = row.outcome === "win" ? ["good", "▲"] : ["bad", "▼"];
        return h("span", { class: tone }, `${sign} ${ownDifference(row)}`);
      },
    }),
    numberColumn("a", params.a, (row) => row.a, 3),
    numberColumn("b", params.b, (row) => row.b, 3),
  ];
  const count = counted(changed.length, "query", "queries");
  return [
    balanceSentence(params, rows),
    table({
      caption: `${count} on which ${params.b} and ${params.a} differ, ${params.measure}`,
      rows: changed,
      columns,
      slice: SHOWN_CHANGES,
      sort: { id: "difference", descending: false },
      empty: "They differ on no query.",
    }),
  ];
}

/** Describe how two engines compare, each count linked to its queries. */
function balanceSentence(params, rows) {
  const link = (outcome) => {
    const count = rows.filter((row) => row.outcome === outcome).length;
    return count ? h("a", { href: queriesHref({ ...params, outcome }) }, String(count)) : "0";
  };
  const total = ` of ${counted(rows.length, "query", "queries")}.`;
  return h("p.balance", [
    h("strong", params.b),
    [" is better on ", link("win"), ", the same on ", link("tie"), " and worse on ", link("loss"), total],
  ]);
}

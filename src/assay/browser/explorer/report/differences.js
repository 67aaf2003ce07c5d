// Paired differences from the baseline: the forest plot, the table, and wins and losses query by query.

import { h } from "../../common/dom.js";
import { counted, fixed, isNumber, percent, signed } from "../../common/format.js";
import { headColumn, numberColumn, table, textColumn } from "../../common/table.js";
import { forest } from "../charts/forest.js";
import { linearAxis } from "../charts/marks.js";
import { pairOf, rowOf } from "../pairs.js";
import { queriesHref, queryHref } from "../parts.js";
import {
  betterSide, chooser, comparisonsOn, decidingP, differenceText, engineColor, engineTable, folded, measureText,
  note, pText, queryCell, rankedNames, shownName, signedInterval, stack, verdictText, withoutReferences,
} from "./parts.js";

export const differencesSection = { id: "differences", title: "Differences", render: renderDifferences };
export const winsSection = { id: "wins", title: "Wins and losses", render: renderWins };

const SHOWN_CHANGES = 12; // rows: one screen; a button shows the rest
const FAMILY_LEGEND =
  "“better” and “worse” require the adjusted p (Holm); “equivalent” and “not inferior” are read from the 90% CI, " +
  "which allows for unseen differences. MDE: minimum detectable effect.";
const DETAIL_LEGEND =
  "d_z: the difference in standard deviations of the differences. ICC: the correlation of queries within a cluster. " +
  "Effective n: the number of independent queries with the same precision.";
const SECONDARY_LEGEND =
  "Secondary measures have no verdict, and their p-values are not adjusted. They help to interpret the primary.";

function renderDifferences(data) {
  const { failed } = data.results.comparison;
  const measures = data.results.measures.filter((name) => comparisonsOn(data, name).length);
  if (!measures.length) return null;
  const options = measures.map((name) => [name, name === data.primary ? `${name} (primary)` : name]);
  const failures = failed.length > 0 && `Not compared because every query failed: ${failed.join(", ")}.`;
  return stack(
    chooser("differences", { measure: measures[0] }, [{ key: "measure", label: "Measure", options }], ({ measure }) =>
      differencesOn(data, measure),
    ),
    note(failures),
  );
}

function differencesOn(data, measure) {
  const rows = comparisonsOn(data, measure);
  return [
    differencesForest(data, measure, withoutReferences(data, rows)),
    differencesTable(data, rows),
    detailFold(data, rows),
    note(measure === data.primary ? FAMILY_LEGEND : SECONDARY_LEGEND),
  ];
}

/** Draw the differences around zero, with the margin on the primary measure. */
export function differencesForest(data, measure, rows) {
  const { margin, baseline } = data.results.comparison;
  const isPrimary = measure === data.primary;
  const ends = rows.flatMap(({ interval }) => [interval.low, interval.high]).concat(isPrimary ? [-margin, margin] : 0);
  const level = percent(rows[0].interval.level);
  return forest({
    label: `Differences on ${measure} from ${baseline}, with ${level} intervals`,
    axis: linearAxis(Math.min(...ends), Math.max(...ends), { count: 4 }),
    axisName: `difference in ${measureText(measure)} (${level} CI)`,
    rows: rows.map((row) => differenceRow(data, row)),
    line: 0,
    lineName: `same as ${baseline}`,
    band: isPrimary ? [-margin, margin] : null,
    bandName: `within the margin of ±${margin}`,
    side: betterSide(data, measure),
    format: (tick) => (tick === 0 ? "0" : signed(tick, 2)),
  });
}

function differenceRow(data, row) {
  const verdict = row.verdict ? `, ${row.verdict_text}` : "";
  return {
    name: row.engine,
    value: row.difference,
    ...row.interval,
    tone: row.tone,
    color: engineColor(data, row.engine),
    text: [differenceText(row), row.verdict && [" ", verdictText(row)]],
    tip:
      `${row.engine} against ${row.baseline}: ${differenceText(row)}${verdict}; ` +
      `p ${pText(decidingP(row))}; MDE ${row.mde_text}`,
  };
}

function differencesTable(data, rows) {
  const level = percent(rows[0].interval.level);
  const columns = [
    rows.some((row) => row.verdict) &&
      textColumn("verdict", "Verdict", (row) => row.verdict_text, {
        cell: (row) => (row.verdict ? verdictText(row) : "–"),
      }),
    numberColumn("difference", `Difference (${level} CI)`, (row) => row.difference, null, { text: differenceText }),
    rows.some((row) => row.p_adjusted !== null) &&
      numberColumn("p_adjusted", "p (adjusted)", (row) => row.p_adjusted, pText, { tip: "by Holm inside the family" }),
    numberColumn("p", "p (raw)", (row) => row.p, pText),
    numberColumn("mde", "MDE", (row) => row.mde, null, { text: (row) => row.mde_text }),
    outcomesColumn(data),
    numberColumn("worse_share", "Worse (%)", (row) => row.worse_share, (share) => fixed(100 * share, 0), {
      tip: "share of queries that got worse",
    }),
  ].filter(Boolean);
  const caption = `Comparisons with ${data.results.comparison.baseline}`;
  return engineTable(data, { caption, rows, columns });
}

function detailFold(data, rows) {
  const [{ equivalence, queries }] = rows;
  const columns = [
    numberColumn("narrow", `${percent(equivalence.level)} CI`, (row) => row.equivalence.low, null, {
      text: (row) => signedInterval(row.equivalence),
      tip: "the interval that decides equivalence",
    }),
    numberColumn("d_z", "d_z", (row) => row.d_z, 2),
    numberColumn("icc", "ICC", (row) => row.icc, 2),
    numberColumn("n", "Effective n", (row) => row.effective_n, 0, {
      tip: `of ${counted(queries, "query", "queries")}`,
    }),
  ];
  const caption = "Statistical detail";
  return folded(caption, engineTable(data, { caption, rows, columns }), note(DETAIL_LEGEND));
}

/** Create the column of better, same and worse queries, each number linked to its queries. */
export function outcomesColumn(data) {
  const link = (row, outcome, count) => {
    const params = { a: row.baseline, b: row.engine, measure: row.measure, outcome };
    const label = `${row.engine}: ${counted(count, "query", "queries")}, ${outcome}`;
    return count ? h("a", { href: queriesHref(params), "aria-label": label }, String(count)) : "0";
  };
  const balance = (row) => (isNumber(row.wins) ? row.wins - row.losses : null);
  return numberColumn("wins", "Better/same/worse", balance, null, {
    label: ["Better/", h("wbr"), "same/", h("wbr"), "worse"],
    text: (row) => (balance(row) === null ? "–" : `${row.wins}/${row.ties}/${row.losses}`),
    cell: (row) =>
      balance(row) === null
        ? "–"
        : [link(row, "win", row.wins), "/", link(row, "tie", row.ties), "/", link(row, "loss", row.losses)],
    tip: `queries on which the engine is better than, the same as or worse than ${data.results.comparison.baseline}`,
  });
}

// --- wins and losses -----------------------------------------------------------------------------------------------

/** List the queries of two engines, worst regressions first; engines and measure can be chosen. */
function renderWins(data) {
  if (data.engines.length < 2) return null;
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
  return stack(chooser("wins", { a, b, measure: data.primary }, choices, (state) => pairTable(data, state)));
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
      rowHref: (row) => queryHref(row.unit, params),
      sort: { id: "difference", descending: false },
      empty: "They do not differ on any query.",
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

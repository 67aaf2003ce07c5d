// Won, tied, lost: every engine against the baseline, and for two that are chosen query by query, the worst first.

import { h } from "../../common/dom.js";
import { counted, fixed, percent, signed } from "../../common/format.js";
import { table } from "../../common/table.js";
import { splitBar } from "../charts/marks.js";
import { pairOf, rowOf } from "../pairs.js";
import { queriesHref } from "../parts.js";
import { chooser } from "./choices.js";
import { engineColumn, note, queryCell, stack, subtitle } from "./parts.js";
import { comparisonsOn, rankedNames, shownName, withoutReferences } from "./words.js";

export const winsSection = { id: "wins", title: "Wins and losses", render: renderWins };
const SHOWN_CHANGES = 12; // a screen; the rest is one press away

/** Show the balance of every engine, and the queries of a pair. */
function renderWins(data) {
  if (data.engines.length < 2) return null;
  const rows = withoutReferences(data, comparisonsOn(data, data.primary));
  return stack(rows.length > 0 && balanceTable(data, rows), pairPart(data));
}

/** Show how many queries each engine won and lost against the baseline. */
function balanceTable(data, rows) {
  const number = (id, title, value) => ({ id, title, align: "right", value });
  const columns = [
    engineColumn(data),
    {
      id: "bar",
      title: "worse | same | better",
      fixed: true,
      value: () => null,
      text: (row) => `${row.losses} | ${row.ties} | ${row.wins}`,
      cell: (row) => balanceBar(row),
    },
    number("losses", "worse", (row) => row.losses),
    number("ties", "same", (row) => row.ties),
    number("wins", "better", (row) => row.wins),
    { ...number("harmed", "harmed", (row) => row.harmed), text: (row) => percent(row.harmed) },
  ];
  const named = rows.map((row) => ({ ...row, name: row.engine }));
  return [
    table({
      caption: `Wins and losses against ${data.results.comparison.baseline} on ${data.primary}`,
      rows: named,
      columns,
      sort: { id: "wins", descending: true },
    }),
    note(`Queries against ${data.results.comparison.baseline} on ${data.primary}. harmed: the share that got worse.`),
  ];
}

/** Draw a balance. */
function balanceBar(row) {
  const part = (value, word, tone) => ({ value, class: tone, tip: `${word} on ${counted(value, "query", "queries")}` });
  return splitBar(
    [part(row.losses, "worse", "loss"), part(row.ties, "the same", "tie"), part(row.wins, "better", "win")],
    `${row.engine}: ${row.losses} worse, ${row.ties} the same, ${row.wins} better`,
  );
}

/** Show the queries of two engines: choose them and the measure. */
function pairPart(data) {
  const names = rankedNames(data);
  const engines = names.map((name) => [name, shownName(data, name)]);
  const [a, b] = pairAtFirst(data, names);
  const choices = [
    { key: "b", label: "Engine", options: engines },
    { key: "a", label: "against", options: engines },
    { key: "measure", label: "on", options: data.results.measures.map((name) => [name, name]) },
  ];
  return [
    subtitle("Query by query, worst regressions first"),
    chooser("wins", { a, b, measure: data.primary }, choices, (state) => pairTable(data, state)),
  ];
}

/** Choose the pair that is shown at first: the best rival against the baseline. */
function pairAtFirst(data, names) {
  const a = data.engines[data.baselineIndex].name;
  const rival = data.engines[data.challengerIndex].name;
  return [a, rival === a ? names.find((name) => name !== a) : rival];
}

/** List the queries on which two engines differ, under the names of those that are compared. */
function pairTable(data, chosen) {
  const pair = pairOf(data, chosen);
  if (pair.a === pair.b) return note("Choose two different engines.");
  const params = { a: data.engines[pair.a].name, b: data.engines[pair.b].name, measure: pair.measure.name };
  const rows = data.headlines.map((unit) => rowOf(data, pair, unit)).filter((row) => row.outcome);
  const changed = rows.filter((row) => row.outcome !== "tie");
  const many = counted(changed.length, "query", "queries");
  return [
    balanceSentence(params, rows),
    table({
      caption: `${many} on which ${params.b} and ${params.a} differ, ${params.measure}`,
      rows: changed,
      columns: pairColumns(data, params),
      slice: SHOWN_CHANGES,
      sort: { id: "difference", descending: false },
      empty: "They differ on no query.",
    }),
  ];
}

/** Say how two engines stand, each count linked to its queries. */
function balanceSentence(params, rows) {
  const link = (outcome) => {
    const many = rows.filter((row) => row.outcome === outcome).length;
    return many ? h("a", { href: queriesHref({ ...params, outcome }) }, String(many)) : "0";
  };
  return h("p.balance", [
    h("strong", params.b),
    " is better on ",
    link("win"),
    ", the same on ",
    link("tie"),
    " and worse on ",
    link("loss"),
    ` of ${counted(rows.length, "query", "queries")}.`,
  ]);
}

/** Make the columns of the list of changes; worst first is by what is good, whichever end that is. */
function pairColumns(data, params) {
  const own = (row) => row.b - row.a;
  return [
    {
      id: "query",
      title: "query",
      head: true,
      value: (row) => row.unit.query.id,
      cell: (row) => queryCell(data, row.unit, params),
    },
    {
      id: "difference",
      title: "difference",
      align: "right",
      first: "ascending",
      value: (row) => row.difference,
      text: (row) => signed(own(row)),
      cell: (row) => changeCell(row, own(row)),
    },
    { id: "a", title: params.a, align: "right", value: (row) => row.a, text: (row) => fixed(row.a) },
    { id: "b", title: params.b, align: "right", value: (row) => row.b, text: (row) => fixed(row.b) },
  ];
}

/** Show a difference; its sign says what its colour says. */
function changeCell(row, difference) {
  const good = row.outcome === "win";
  return h("span", { class: good ? "good" : "bad" }, `${good ? "▲" : "▼"} ${signed(difference)}`);
}

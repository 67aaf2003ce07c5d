// The columns of the list of queries.

import { h } from "../../common/dom.js";
import { fixed, signed } from "../../common/format.js";
import { isReference } from "../data.js";
import { pairOf } from "../pairs.js";

const OUTCOME_SIGNS = { win: "▲", tie: "=", loss: "▼" };
const OUTCOME_TONES = { win: "good", tie: "soft", loss: "bad" };

/** Make the columns for two engines; `href(row)` is where a query leads to. */
export function listColumns(data, params, href = () => null) {
  const pair = pairOf(data, params);
  const named = (letter, engine) => `${letter}: ${data.engines[engine].name}`;
  return [
    {
      id: "query",
      title: "Query",
      value: (row) => row.unit.text,
      text: (row) => `${row.unit.text} (${row.unit.gold}/${row.unit.query.id})`,
      cell: (row) => listedQuery(data, row, href(row)),
    },
    ...listedForm(params),
    ...listedCategory(data),
    engineValue("a", named("A", pair.a), pair.measure.name),
    engineValue("b", named("B", pair.b), pair.measure.name),
    {
      id: "difference",
      title: "B − A",
      align: "right",
      value: (row) => row.difference,
      text: listedDifference(pair),
      cell: (row) => shownDifference(row, listedDifference(pair)(row)),
      tip: `B better or worse than A by ${pair.measure.name}`,
    },
    {
      id: "ranks",
      title: "Rank A → B",
      align: "right",
      first: "ascending",
      value: (row) => row.rankB,
      text: (row) => `${row.rankA ?? "–"} → ${row.rankB ?? "–"}`,
      tip: "Rank of the first right answer: A → B",
    },
    ...listedSpread(data, pair),
  ];
}

/** Show the values of one of the two engines. */
function engineValue(id, title, measure) {
  return {
    id,
    title,
    label: h("span.engine-label", title),
    align: "right",
    wide: true,
    value: (row) => row[id],
    text: (row) => fixed(row[id]),
    tip: `${title}, ${measure}`,
  };
}

/** Show a query with where it comes from. */
function listedQuery(data, row, href) {
  const { unit } = row;
  const source = data.golds.length > 1 ? `${unit.gold} / ${unit.query.id}` : unit.query.id;
  return [h("a.query-link", { href, dataset: { unit: unit.index } }, unit.text), h("span.query-id", source)];
}

/** Show the form where several are listed. */
function listedForm(params) {
  return params.form === "all" ? [{ id: "form", title: "Phrasing", wide: true, value: (row) => row.unit.form }] : [];
}

/** Show the category where queries have one. */
function listedCategory(data) {
  const has = data.queries.some((query) => query.tags.category);
  return has
    ? [
        {
          id: "category",
          title: "Category",
          wide: true,
          value: (row) => row.unit.query.tags.category ?? null,
          text: (row) => row.unit.query.tags.category ?? "",
        },
      ]
    : [];
}

/** Show how far all engines that compete are apart, where there are more than the two. */
function listedSpread(data, pair) {
  const real = data.engines.map((engine, place) => (isReference(engine) ? -1 : place)).filter((place) => place >= 0);
  if (real.length < 3) return [];
  const spread = (row) => {
    const values = real.map((engine) => data.value(engine, pair.measure.name, row.unit.index));
    return Math.max(...values) - Math.min(...values);
  };
  return [
    {
      id: "spread",
      title: "Engines apart",
      align: "right",
      wide: true,
      value: spread,
      text: (row) => fixed(spread(row)),
      tip: "Best minus worst of all engines that compete",
    },
  ];
}

/** Write a difference in the measure's own units. */
function listedDifference(pair) {
  return (row) => signed(pair.measure.higher ? row.difference : -row.difference);
}

/** Show a difference with a sign that needs no colour. */
function shownDifference(row, text) {
  if (row.outcome === null) return h("span.soft", { title: "The measure does not apply" }, "–");
  return h("span", { class: OUTCOME_TONES[row.outcome] }, [
    text,
    " ",
    h("span", { "aria-hidden": "true" }, OUTCOME_SIGNS[row.outcome]),
  ]);
}

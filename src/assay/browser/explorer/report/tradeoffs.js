// What quality costs: the primary measure against the time of a query, and against the tokens of its results.

import { h } from "../../common/dom.js";
import { duration, grouped } from "../../common/format.js";
import { costAxis, linearAxis } from "../charts/marks.js";
import { scatter } from "../charts/scatter.js";
import { isReference } from "../data.js";
import { note, stack, subtitle } from "./parts.js";
import { meansOf, meanText, measureOf, sentences } from "./words.js";

export const tradeoffsSection = { id: "tradeoffs", title: "Quality against cost", render: renderTradeoffs };

/** Show both pictures, as far as there is something to draw. */
function renderTradeoffs(data) {
  const charts = [latencyChart(data), tokensChart(data)].filter(Boolean);
  if (!charts.length) return null;
  const better = measureOf(data, data.primary).higher ? "above" : "below";
  return stack(
    h("div.pair", charts),
    note(
      `An engine ${better} and to the left of another is better and cheaper. ` +
        "Bars are intervals of the mean; filled dots are those that nobody beats on both.",
    ),
  );
}

/** Draw quality against the median time of a warm query. */
function latencyChart(data) {
  const known = new Map(data.results.spending.map((row) => [row.engine, row]));
  const measured = (name) => {
    const row = known.get(name);
    return row && !row.mostly_failed ? row.warm_ms : null;
  };
  const text = (ms) => duration(ms / 1000).replace(".0 ", " ");
  return tradeoffChart(data, {
    title: "Against latency",
    xName: "median time of a warm query",
    cost: measured,
    text,
    why: "no time of a warm query",
  });
}

/** Draw quality against the tokens of the results. */
function tokensChart(data) {
  const { tokens } = data.summary;
  return tradeoffChart(data, {
    title: "Against tokens",
    xName: `mean tokens of the first ${data.results.k} results`,
    cost: (name) => tokens?.[data.engineIndex(name)],
    text: grouped,
    tick: thousands,
    why: "no tokens counted",
  });
}

/** Write a round number of tokens in little room. */
function thousands(count) {
  return count >= 1000 ? `${count / 1000}k` : String(count);
}

/** Draw one picture; null where fewer than two engines have a cost. */
function tradeoffChart(data, kind) {
  const rows = meansOf(data, data.primary)
    .filter((row) => competes(data, row.engine))
    .map((row) => ({ row, cost: kind.cost(row.engine) }));
  const drawn = rows.filter((one) => Number.isFinite(one.cost) && one.cost >= 0 && one.cost !== null);
  if (drawn.length < 2) return null;
  const missing = rows.filter((one) => !drawn.includes(one)).map((one) => one.row.engine);
  const ends = drawn.flatMap(({ row }) => [row.interval.low, row.interval.high]);
  const { low, high } = measureOf(data, data.primary);
  return h("div.pair-part", [
    subtitle(kind.title),
    scatter({
      label: `${data.primary} ${kind.title.toLowerCase()}`,
      xName: kind.xName,
      yName: data.primary,
      xFormat: kind.tick ?? kind.text,
      points: drawn.map((one) => tradeoffPoint(data, kind, one, drawn)),
      xAxis: costAxis(drawn.map((one) => one.cost)),
      yAxis: linearAxis(Math.min(...ends), Math.max(...ends), { least: low ?? -Infinity, most: high ?? Infinity }),
    }),
    note(sentences(missing.length > 0 && `Not drawn: ${missing.join(", ")} (${kind.why}).`)),
  ]);
}

/** Tell whether an engine competes and answered something. */
function competes(data, name) {
  const facts = data.engines[data.engineIndex(name)];
  return facts && !isReference(facts) && !facts.answered_nothing;
}

/** Give one engine as a point; those that nobody beats on both are filled and named first. */
function tradeoffPoint(data, kind, { row, cost }, all) {
  const way = measureOf(data, data.primary).higher ? 1 : -1;
  const beaten = all.some(
    (other) =>
      other.cost <= cost &&
      way * other.row.mean >= way * row.mean &&
      (other.cost < cost || way * other.row.mean > way * row.mean),
  );
  const mean = meanText(row.mean, row.interval.low, row.interval.high);
  const text = `${row.engine}: ${data.primary} ${mean}, ${kind.text(cost)}`;
  return {
    name: row.engine,
    x: cost,
    y: row.mean,
    low: row.interval.low,
    high: row.interval.high,
    tip: beaten ? text : `${text}; nobody is better and cheaper`,
    hollow: beaten,
    tone: row.engine === data.results.comparison.baseline ? "baseline" : "plain",
    weight: way * row.mean + (beaten ? 0 : 1e6),
  };
}

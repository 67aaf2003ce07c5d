// The ranks of first targets, and quality against cost.

import { h } from "../../common/dom.js";
import { duration, grouped, percent } from "../../common/format.js";
import { numberColumn, textColumn } from "../../common/table.js";
import { barRow, costAxis, linearAxis } from "../charts/marks.js";
import { scatter } from "../charts/scatter.js";
import { isReference } from "../data.js";
import {
  engineColor, engineOf, engineTable, fewText, folded, meansOf, meanText, measureOf, note, rankedNames, sentences,
  stack, subtitle,
} from "./parts.js";

export const ranksSection = { id: "ranks", title: "Ranks", render: renderRanks };
export const tradeoffsSection = { id: "tradeoffs", title: "Quality against cost", render: renderTradeoffs };

const CUTOFFS = [1, 3, 5]; // the first result, an editor's short list, half a page

function renderRanks(data) {
  const known = new Map(data.results.ranks.map((item) => [item.engine, item]));
  const rows = rankedNames(data)
    .filter((name) => known.has(name))
    .map((name) => {
      const { counts, missed, sentence } = known.get(name);
      return { name, counts, missed, sentence, total: sum(counts) + missed };
    });
  if (!rows.length || !rows[0].total) return null;
  const k = rows[0].counts.length;
  const { level } = known.get(rows[0].name);
  return stack(
    engineTable(data, { caption: "Rank of the first target, every engine", rows, columns: rankColumns(data, rows, k) }),
    note(
      sentences(
        `Bars: ranks 1 to ${k}, then the queries without a target among the first ${k}. Targets match by ${level}.`,
        fewText(data, rows[0].total),
      ),
    ),
    folded(
      "The distributions in words",
      h(
        "ul.plain-list",
        rows.map((row) => h("li", h("strong", row.name), ": ", row.sentence)),
      ),
    ),
  );
}

function rankColumns(data, rows, k) {
  const max = Math.max(...rows.flatMap((row) => [...row.counts, row.missed]));
  const shareWithin = (row, cutoff) => sum(row.counts.slice(0, cutoff)) / row.total;
  return [
    textColumn("bars", `Rank 1 … ${k} | not found`, () => null, {
      fixed: true,
      text: (row) => [...row.counts, row.missed].join(" "),
      cell: (row) => h("span", { class: engineColor(data, row.name) }, rankBars(row, max)),
    }),
    ...[...CUTOFFS.filter((cutoff) => cutoff < k), k].map((cutoff) => {
      const title = cutoff === 1 ? "Rank 1" : `In first ${cutoff}`;
      return numberColumn(`in${cutoff}`, title, (row) => shareWithin(row, cutoff), percent);
    }),
    numberColumn("missed", "Not found", (row) => row.missed / row.total, null, {
      text: (row) => `${grouped(row.missed)} (${percent(row.missed / row.total)})`,
    }),
  ];
}

function rankBars({ name, counts, missed, total }, max) {
  const share = (count) => `${grouped(count)} of ${grouped(total)} (${percent(count / total)})`;
  const bars = counts.map((count, index) => ({ value: count, tip: `rank ${index + 1}: ${share(count)}` }));
  const last = { value: missed, tip: `not found: ${share(missed)}`, class: "missed" };
  return barRow([...bars, last], max, `Ranks of ${name}`);
}

function sum(counts) {
  return counts.reduce((total, count) => total + count, 0);
}

// --- quality against cost ------------------------------------------------------------------------------------------

function renderTradeoffs(data) {
  const { spending, k } = data.results;
  const resources = new Map(spending.map((row) => [row.engine, row]));
  const medianTime = (name) => (resources.get(name)?.mostly_failed ? null : resources.get(name)?.warm_ms);
  const charts = [
    tradeoffChart(data, {
      title: "Against latency",
      xName: "median query time",
      cost: medianTime,
      text: (ms) => duration(ms / 1000).replace(".0 ", " "),
      missing: "no median query time",
    }),
    tradeoffChart(data, {
      title: "Against tokens",
      xName: `mean tokens of the first ${k} results`,
      cost: (name) => data.summary.tokens?.[data.engineIndex(name)],
      text: grouped,
      tick: (count) => (count >= 1000 ? `${count / 1000}k` : String(count)),
      missing: "no tokens counted",
    }),
  ].filter(Boolean);
  if (!charts.length) return null;
  const better = measureOf(data, data.primary).higher ? "above" : "below";
  return stack(
    h("div.pair", charts),
    note(
      `An engine ${better} and to the left of another is better and cheaper. ` +
        "Bars are intervals of the mean; filled points are Pareto-optimal.",
    ),
  );
}

/** Draw one chart; null if fewer than two engines have a cost. */
function tradeoffChart(data, kind) {
  const isTested = (engine) => engine && !isReference(engine) && !engine.answered_nothing;
  const rows = meansOf(data, data.primary)
    .filter((row) => isTested(engineOf(data, row.engine)))
    .map((row) => ({ ...row, cost: kind.cost(row.engine) }));
  const drawn = rows.filter(({ cost }) => Number.isFinite(cost) && cost >= 0);
  if (drawn.length < 2) return null;
  const missing = rows.filter((row) => !drawn.includes(row)).map((row) => row.engine);
  const ends = drawn.flatMap(({ interval }) => [interval.low, interval.high]);
  const { low, high } = measureOf(data, data.primary);
  return h("div.pair-part", [
    subtitle(kind.title),
    scatter({
      label: `${data.primary} ${kind.title.toLowerCase()}`,
      xName: kind.xName,
      yName: data.primary,
      xFormat: kind.tick ?? kind.text,
      points: drawn.map((row) => tradeoffPoint(data, kind, row, drawn)),
      xAxis: costAxis(drawn.map(({ cost }) => cost)),
      yAxis: linearAxis(Math.min(...ends), Math.max(...ends), { least: low ?? -Infinity, most: high ?? Infinity }),
    }),
    note(missing.length > 0 && `Not drawn: ${missing.join(", ")} (${kind.missing}).`),
  ]);
}

/** Return the point of an engine; Pareto-optimal ones are filled and named first. */
function tradeoffPoint(data, kind, { engine, mean, interval, cost }, all) {
  const direction = measureOf(data, data.primary).higher ? 1 : -1;
  const quality = direction * mean;
  const isDominated = all.some((other) => {
    const otherQuality = direction * other.mean;
    return other.cost <= cost && otherQuality >= quality && (other.cost < cost || otherQuality > quality);
  });
  const text = `${engine}: ${data.primary} ${meanText(mean, interval)}, ${kind.text(cost)}`;
  return {
    name: engine,
    x: cost,
    y: mean,
    low: interval.low,
    high: interval.high,
    tip: isDominated ? text : `${text}; Pareto-optimal`,
    hollow: isDominated,
    color: engineColor(data, engine),
    weight: quality + (isDominated ? 0 : 1e6),
  };
}

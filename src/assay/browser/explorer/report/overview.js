// The first screen: the verdict, the differences from the baseline, and the scores of the engines under test.

import { h, prose } from "../../common/dom.js";
import { counted, fixed, grouped, isNumber, percent, signed } from "../../common/format.js";
import { copyButton } from "../../common/page.js";
import { numberColumn } from "../../common/table.js";
import { linearAxis } from "../charts/marks.js";
import { scatter } from "../charts/scatter.js";
import { queryHref, reportHref } from "../parts.js";
import { differencesForest, outcomesColumn } from "./differences.js";
import {
  comparisonsOn, engineTable, intervalColumn, meansOf, measureText, note, rankedNames, withoutReferences,
} from "./parts.js";
import { meansForest } from "./scores.js";

const SHOWN_ENGINES = 10; // that fit the first screen; the sections below have all
const SHOWN_COMMITS = 30;
const BADGES = {
  equivalent: "Same (equivalent)",
  "not inferior": "Not worse (non-inferior)",
  inconclusive: "Can't tell (inconclusive)",
  "identical rankings": "Identical",
};
// The page shows other engines in a table, and losses as links.
const REPLACED_LINES = /^(Others|Largest losses): /;

export function renderOverview(data) {
  const { decision, tone } = data.summary;
  const { outcome, headline } = decision;
  const badge = BADGES[outcome] ?? outcome.charAt(0).toUpperCase() + outcome.slice(1);
  const [answer, ...lines] = decision.lines.slice(0, -1).filter((line) => !REPLACED_LINES.test(line)); // no file names
  const copyCard = copyButton(() => [headline, ...decision.lines, ""].join("\n"), "Copy the verdict");
  const origin = [data.results.suite, data.results.header.date.slice(0, 10)].filter(Boolean).join(" · ");
  return [
    h("header.verdict", { class: tone }, [
      h("p.kicker", h("span.badge", badge), origin, copyCard),
      h("h1", prose(headline)),
      h("p.answer", prose(answer)),
      lines.map((line) => h("p", prose(line))),
      data.live?.changes?.map((change) => h("p.warning", change)),
      h("p", lossLinks(data), warningLink(decision)),
    ]),
    h("div.overview", [
      h("section", { "aria-labelledby": "overview-chart" }, chartPart(data)),
      h("section", { "aria-labelledby": "overview-scores" }, scoresPart(data)),
      trendPart(data),
    ]),
  ];
}

function lossLinks(data) {
  const { baseline, candidate, largest_losses: largest } = data.summary.decision;
  const losses = largest.map(({ gold, query, difference }, index) => {
    const unit = data.headlines.find((headline) => headline.gold === gold && headline.query.id === query);
    const params = { a: baseline.name, b: candidate.name };
    const link = unit ? h("a", { href: queryHref(unit, params) }, query) : query;
    return [index ? ", " : "", link, ` ${signed(difference, 2)}`];
  });
  return losses.length > 0 && h("span.losses", "Largest losses: ", losses);
}

function warningLink({ warnings: { length } }) {
  return length > 0 && h("a.warning-link", { href: reportHref("limits") }, counted(length, "warning"));
}

/** Draw the differences from the baseline or, without a comparison, the means. */
function chartPart(data) {
  const order = rankedNames(data);
  const shown = withoutReferences(data, comparisonsOn(data, data.primary))
    .sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name))
    .slice(0, SHOWN_ENGINES);
  const { baseline, primary } = data.results.comparison;
  const title = shown.length ? `Difference from ${baseline}` : `Mean ${measureText(primary)}`;
  return [
    h("h2", { id: "overview-chart" }, title),
    shown.length ? differencesForest(data, primary, shown) : meansForest(data, primary),
  ];
}

function scoresPart(data) {
  const { spending, reading } = data.results;
  const means = new Map(meansOf(data, data.primary).map((row) => [row.engine, row]));
  const comparisons = new Map(comparisonsOn(data, data.primary).map((row) => [row.engine, row]));
  const times = new Map(data.summary.notes.times ? [] : spending.map((row) => [row.engine, row]));
  const median = ({ name }) => (times.get(name)?.mostly_failed ? null : (times.get(name)?.warm_ms ?? null));
  const mean = ({ name }) => means.has(name) && { mean: means.get(name).mean, ...means.get(name).interval };
  const rows = rankedNames(data).map((name) => ({ ...comparisons.get(name), name }));
  const columns = [
    intervalColumn("mean", `${measureText(data.primary)} (${percent(data.summary.decision.level)} CI)`, mean),
    comparisons.size > 0 && outcomesColumn(data),
    rows.some((row) => median(row) !== null) &&
      numberColumn("median", "Median (ms)", median, (ms) => grouped(ms, 1), { first: "ascending" }),
  ].filter(Boolean);
  return [
    h("h2", { id: "overview-scores" }, "Scores"),
    engineTable(data, { caption: "Scores of the engines", rows, columns, slice: SHOWN_ENGINES }),
    note(reading),
  ];
}

/** Draw the mean of each gated commit, with the mean of its baseline; nothing for fewer than two. */
function trendPart({ summary: { history = [] } }) {
  const gates = history.filter(({ mean }) => isNumber(mean)).slice(-SHOWN_COMMITS);
  if (gates.length < 2) return null;
  const last = gates.length - 1;
  const commitOf = ({ commit, date }) => commit.slice(0, 7) || date.slice(0, 10);
  const points = gates.map((gate, x) => {
    const { mean: y, baseline, exit_code: code, outcome, date } = gate;
    const against = isNumber(baseline) ? `, baseline ${fixed(baseline)}` : "";
    const tip = `${commitOf(gate)}, ${date.slice(0, 10)}: ${fixed(y)}${against}, ${outcome}`;
    const look = code ? { name: "✗", color: "bad", hollow: true } : { name: "", color: "plain" };
    return { x, y, low: y, high: y, tip, weight: x, ...look };
  });
  const baselines = gates.map(({ baseline: y }, x) => ({ x, y })).filter(({ y }) => isNumber(y));
  const values = [...points, ...baselines].map(({ y }) => y);
  const failed = gates.filter(({ exit_code: code }) => code).length;
  const about = `${counted(gates.length, "gated commit")}, ${failed} failed (✗); dashed: mean of the baseline`;
  const { engine, measure } = gates[last];
  const chart = scatter({
    label: `Mean ${measure} of ${engine}: ${about}; last ${points[last].tip}`,
    points,
    lines: [{ kind: "line", points: baselines }, { kind: "reach", points }],
    xAxis: { ...linearAxis(0, last, { least: 0, most: last }), ticks: [0, last] },
    yAxis: linearAxis(Math.min(...values), Math.max(...values), { count: 3 }),
    xName: about,
    yName: `mean ${measureText(measure)} of ${engine}`,
    xFormat: (tick) => commitOf(gates[tick]),
  });
  return h("section.trend", { "aria-labelledby": "overview-trend" }, h("h2", { id: "overview-trend" }, "Trend"), chart);
}

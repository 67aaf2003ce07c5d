// Who displaced whom: plausible wrong answers that stood above the right one, by engine and kind, and query by query.

import { h, fill } from "../../common/dom.js";
import { fixed, percent, placeText, signed } from "../../common/format.js";
import { heatCell } from "../../common/charts/heat.js";
import { table } from "../../common/table.js";
import { displacements } from "./displacing.js";
import { queryCell } from "./phrasings.js";
import { engineColumn } from "./scores.js";
import { choice, folded, note, stack, subtitle } from "./parts.js";
import { fewText, rankedNames, sentences, shownName } from "./words.js";

export const adversariesSection = { id: "adversaries", title: "Adversaries", render: renderAdversaries };
const SHOWN_DISPLACED = 12; // a screen; the rest is one press away
const IDLE = 1200; // milliseconds after which the rankings are read even if nobody came near: printing cannot wait for them

/** Show shares by engine and kind, and below them the queries. */
function renderAdversaries(data) {
  const overall = data.results.traps.filter((trap) => trap.by === "all");
  if (!overall.length) return null;
  const { k } = data.results;
  return stack(trapTable(data, overall), note(sentences(
    `Displacement@${k}: in this share of the queries an adversary stands in the first ${k} and above every primary answer; less is better. RankGap@${k}: by how many ranks the answer leads, both censored at ${k + 1}.`,
    "A query that failed counts as displaced.", fewText(Math.min(...overall.map((trap) => trap.queries))))),
  folded("By kind of adversary", kindsTable(data)), data.has("rankings") && queriesPart(data));
}

/** Show one row an engine. */
function trapTable(data, traps) {
  const known = new Map(traps.map((trap) => [trap.engine, trap]));
  const rows = rankedNames(data).filter((name) => known.has(name)).map((name) => ({ name, ...known.get(name) }));
  return table({ caption: "Adversaries, every engine", rows, columns: [engineColumn(data), ...trapColumns(data.results.k)] });
}

/** Make the columns of what adversaries did. */
function trapColumns(k) {
  return [
    { id: "queries", title: "queries", align: "right", value: (row) => row.queries },
    { id: "found", title: "answer found", align: "right", value: (row) => row.found, text: (row) => percent(row.found) },
    { id: "displacement", title: `Displacement@${k}`, align: "right", first: "ascending", value: (row) => row.displacement, text: (row) => fixed(row.displacement), cell: (row) => heatCell(row.displacement, 0, 1, fixed(row.displacement)) },
    { id: "gap", title: `RankGap@${k}`, align: "right", value: (row) => row.rank_gap, text: (row) => signed(row.rank_gap, 2) },
  ];
}

/** Show every engine against every kind. */
function kindsTable(data) {
  const rows = data.results.traps.filter((trap) => trap.by !== "all").map((trap) => ({ name: trap.engine, ...trap }));
  const kinds = [{ id: "by", title: "by", value: (row) => row.by }, { id: "value", title: "kind", value: (row) => row.value }];
  return table({ caption: "Adversaries by kind", rows, columns: [...kinds, engineColumn(data), ...trapColumns(data.results.k)] });
}

/** Make the part that lists queries; the rankings are read when it comes near, or soon after the page is there. */
function queriesPart(data) {
  const place = h("div", { class: "displaced" }, h("p", { class: "note" }, "Reading the rankings…"));
  let begun = false;
  const begin = async () => {
    if (begun) return;
    begun = true;
    watcher.disconnect();
    const part = displacedPart(data, await data.load("rankings"));
    keepingSight(place.closest(".report-section")?.nextElementSibling, () => fill(place, part));
  };
  const watcher = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && begin(), { rootMargin: "600px" });
  watcher.observe(place);
  setTimeout(begin, IDLE);
  return [subtitle("Who displaced whom"), place];
}

/** Change something above a section; where that section is being read, it stays where it is. */
function keepingSight(section, change) {
  const before = section?.getBoundingClientRect().top ?? Infinity;
  change();
  if (before < window.innerHeight / 2) window.scrollBy(0, section.getBoundingClientRect().top - before);
}

/** Show what was displaced, for the engine that is chosen. */
function displacedPart(data, rankings) {
  if (!rankings) return note("The rankings are not in this file.");
  const found = displacements(data, rankings);
  const names = rankedNames(data).filter((name) => found.byEngine.has(name));
  if (!names.length) return note("No adversary stood above an answer.");
  const state = { engine: names.includes(data.results.challenger) ? data.results.challenger : names[0] };
  const options = names.map((name) => [name, `${shownName(data, name)} (${found.byEngine.get(name).length})`]);
  const grid = h("div", { class: "chosen" });
  const show = () => fill(grid, displacedTable(data, found, state.engine));
  const list = choice("Engine", options, state.engine, (value) => { state.engine = value; show(); });
  show();
  const level = data.results.ranks[0]?.level;
  return [h("div", { class: "picks" }, list), grid, note(sentences(level && `Ranks are those of distinct hits, matched by ${level}.`, "Queries without an answer are not listed. also: how many other engines put the same adversary above the answer."))];
}

/** List the queries where an adversary stood above the answer, the deepest fall first. */
function displacedTable(data, found, engine) {
  const rows = found.byEngine.get(engine);
  const missing = data.results.k + 1;
  return table({
    caption: `Queries whose answer was displaced, ${engine}`, rows, slice: SHOWN_DISPLACED, sort: { id: "fall", descending: true },
    columns: [
      { id: "query", title: "query", head: true, value: (row) => row.unit.query.id, cell: (row) => queryCell(data, row.unit, { engines: engine }) },
      { id: "adversary", title: "displaced by", value: (row) => placeText(row.adversary), cell: adversaryCell },
      { id: "rank", title: "at rank", align: "right", first: "ascending", value: (row) => row.rank },
      { id: "answer", title: "answer at", align: "right", value: (row) => row.answer ?? missing, text: (row) => (row.answer === null ? "not found" : String(row.answer)) },
      { id: "fall", title: "fall", align: "right", tip: `ranks between them; an answer that is not found stands at ${missing}`, value: (row) => (row.answer ?? missing) - row.rank },
      { id: "also", title: "also", align: "right", tip: "other engines that this adversary misled on this query", value: (row) => found.misled(row) - 1, text: (row) => `${found.misled(row) - 1} of ${data.engines.length - 1}` },
    ],
  });
}

/** Name an adversary with its kind and why it misleads. */
function adversaryCell(row) {
  const { adversary } = row;
  return h("span", { class: "adversary-cell" }, h("code", null, placeText(adversary)), h("span", { class: "query-text" }, `${adversary.strength} ${adversary.relationship}: ${adversary.confusion}`));
}

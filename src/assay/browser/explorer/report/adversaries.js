// Who displaced whom: plausible wrong answers that stood above the right one, by engine and kind, and query by query.

import { fill, h } from "../../common/dom.js";
import { fixed, percent, signed, spanText } from "../../common/format.js";
import { table } from "../../common/table.js";
import { heatCell } from "../charts/marks.js";
import { namesParam } from "../parts.js";
import { chooser } from "./choices.js";
import { displacements } from "./displacing.js";
import { engineColumn, folded, note, queryCell, stack, subtitle } from "./parts.js";
import { rankedNames, sentences, shownName } from "./words.js";

export const adversariesSection = { id: "adversaries", title: "Adversaries", render: renderAdversaries };
const SHOWN_DISPLACED = 12; // a screen; the rest is one press away
const IDLE = 1200; // milliseconds after which rankings are read even if nobody came near: printing cannot wait

/** Show shares by engine and kind, and below them the queries. */
function renderAdversaries(data) {
  const overall = data.results.traps.filter((one) => one.by === "all");
  if (!overall.length) return null;
  return stack(
    adversaryTable(data, overall),
    note(sentences(data.summary.notes.adversaries, "Less displacement is better; a failed query counts as displaced.")),
    folded("By kind of adversary", kindsTable(data)),
    data.has("rankings") && queriesPart(data),
  );
}

/** Show one row an engine. */
function adversaryTable(data, overall) {
  const known = new Map(overall.map((one) => [one.engine, one]));
  const rows = rankedNames(data)
    .filter((name) => known.has(name))
    .map((name) => ({ name, ...known.get(name) }));
  return table({
    caption: "Adversaries, every engine",
    rows,
    columns: [engineColumn(data), ...adversaryColumns(data.results.k)],
  });
}

/** Make the columns of what adversaries did. */
function adversaryColumns(k) {
  return [
    { id: "queries", title: "queries", align: "right", value: (row) => row.queries },
    {
      id: "found",
      title: "answer found",
      align: "right",
      value: (row) => row.found,
      text: (row) => percent(row.found),
    },
    {
      id: "displacement",
      title: `Displacement@${k}`,
      align: "right",
      first: "ascending",
      value: (row) => row.displacement,
      text: (row) => fixed(row.displacement),
      cell: (row) => heatCell(row.displacement, 0, 1, fixed(row.displacement)),
    },
    {
      id: "gap",
      title: `RankGap@${k}`,
      align: "right",
      value: (row) => row.rank_gap,
      text: (row) => signed(row.rank_gap, 2),
    },
  ];
}

/** Show every engine against every kind. */
function kindsTable(data) {
  const rows = data.results.traps.filter((one) => one.by !== "all").map((one) => ({ name: one.engine, ...one }));
  const kinds = [
    { id: "by", title: "by", value: (row) => row.by },
    { id: "value", title: "kind", value: (row) => row.value },
  ];
  return table({
    caption: "Adversaries by kind",
    rows,
    columns: [...kinds, engineColumn(data), ...adversaryColumns(data.results.k)],
  });
}

/** Make the part that lists queries; the rankings are read when it comes near, or soon after the page is there. */
function queriesPart(data) {
  const place = h("div.displaced", h("p.note", "Reading the rankings…"));
  let begun = false;
  const begin = async () => {
    if (begun) return;
    begun = true;
    watcher.disconnect();
    const part = displacedPart(data, await data.load("rankings"));
    keepingSight(place.closest(".report-section")?.nextElementSibling, () => fill(place, part));
  };
  const watcher = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && begin(), {
    rootMargin: "600px",
  });
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
  return [
    chooser("adversaries", state, [{ key: "engine", label: "Engine", options }], ({ engine }) =>
      displacedTable(data, found, engine),
    ),
    note(
      sentences(
        `Ranks are those of distinct results, by ${data.level}.`,
        data.level !== "file" && "The shares above are by file.",
        "not found: the answer is not among the first results. Queries that failed count above, and are not listed.",
        "also: how many other engines put the same adversary above the answer.",
      ),
    ),
  ];
}

/** List the queries where an adversary stood above the answer, the deepest fall first. */
function displacedTable(data, found, engine) {
  const rows = found.byEngine.get(engine);
  const missing = data.results.k + 1;
  return table({
    caption: `Queries whose answer was displaced, ${engine}`,
    rows,
    slice: SHOWN_DISPLACED,
    sort: { id: "fall", descending: true },
    columns: [
      {
        id: "query",
        title: "query",
        head: true,
        value: (row) => row.unit.query.id,
        cell: (row) => queryCell(data, row.unit, { engines: namesParam([engine]) }),
      },
      { id: "adversary", title: "displaced by", value: (row) => spanText(row.adversary), cell: adversaryCell },
      { id: "rank", title: "at rank", align: "right", first: "ascending", value: (row) => row.rank },
      {
        id: "answer",
        title: "answer at",
        align: "right",
        value: (row) => row.answer ?? missing,
        text: (row) => (row.answer === null ? "not found" : String(row.answer)),
      },
      {
        id: "fall",
        title: "fall",
        align: "right",
        tip: `ranks between them; an answer that is not found stands at ${missing}`,
        value: (row) => (row.answer ?? missing) - row.rank,
      },
      {
        id: "also",
        title: "also",
        align: "right",
        tip: "other engines that this adversary misled on this query",
        value: (row) => found.misled(row) - 1,
        text: (row) => `${found.misled(row) - 1} of ${data.engines.length - 1}`,
      },
    ],
  });
}

/** Name an adversary with its kind and why it misleads. */
function adversaryCell(row) {
  const { adversary } = row;
  return h("span.adversary-cell", [
    h("code", spanText(adversary)),
    h("span.query-text", `${adversary.strength} ${adversary.relationship}: ${adversary.confusion}`),
  ]);
}

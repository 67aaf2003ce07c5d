// Adversaries that outranked targets: by engine and kind, and query by query.

import { fill, h } from "../../common/dom.js";
import { fixed, percent, signed, spanText } from "../../common/format.js";
import { headColumn, numberColumn, table, textColumn } from "../../common/table.js";
import { heatCell } from "../charts/marks.js";
import { namesParam, queryHref } from "../parts.js";
import {
  chooser, engineColumn, engineTable, folded, note, queryCell, rankedNames, sentences, shownName, stack, subtitle,
} from "./parts.js";

export const adversariesSection = { id: "adversaries", title: "Adversaries", render: renderAdversaries };

const PRIMARY_GRADE = 2;
const SHOWN_QUERIES_DISPLACED = 12; // rows: one screen; a button shows the rest
const LOADING_DELAY = 1200; // milliseconds after which rankings are read in any case: printing cannot wait for them

function renderAdversaries(data) {
  const { adversaries, k } = data.results;
  const stats = new Map(adversaries.filter(({ by }) => by === "all").map((item) => [item.engine, item]));
  if (!stats.size) return null;
  const rows = rankedNames(data)
    .filter((name) => stats.has(name))
    .map((name) => ({ name, ...stats.get(name) }));
  const columns = [
    numberColumn("queries", "Queries", (row) => row.queries),
    numberColumn("found", "Target found", (row) => row.found, percent),
    numberColumn("displacement", `Displacement@${k}`, (row) => row.displacement, 3, {
      first: "ascending",
      cell: ({ displacement }) => heatCell(displacement, 0, 1, fixed(displacement)),
    }),
    numberColumn(
      "gap",
      `RankGap@${k}`,
      (row) => row.rank_gap,
      (gap) => signed(gap, 2),
    ),
  ];
  const kindColumns = [textColumn("by", "By", (row) => row.by), textColumn("value", "Kind", (row) => row.value)];
  const kinds = table({
    caption: "Adversaries by kind",
    rows: adversaries.filter(({ by }) => by !== "all").map((item) => ({ name: item.engine, ...item })),
    columns: [...kindColumns, engineColumn(data), ...columns],
  });
  return stack(
    engineTable(data, { caption: "Adversaries by engine", rows, columns }),
    note(
      sentences(data.summary.notes.adversaries, "Lower displacement is better; a failed query counts as displaced."),
    ),
    folded("By kind of adversary", kinds),
    data.has("rankings") && displacedPart(data),
  );
}

/** Create the list of queries; rankings are read when it comes near the screen, or soon after the page is shown. */
function displacedPart(data) {
  const box = h("div.displaced", h("p.note", "Reading the rankings…"));
  let started = false;
  const load = async () => {
    if (started) return;
    started = true;
    watcher.disconnect();
    const content = displacedContent(data, await data.load("rankings"));
    keepInView(box.closest(".report-section")?.nextElementSibling, () => fill(box, content));
  };
  const onIntersection = (entries) => entries.some(({ isIntersecting }) => isIntersecting) && load();
  const watcher = new IntersectionObserver(onIntersection, { rootMargin: "600px" });
  watcher.observe(box);
  setTimeout(load, LOADING_DELAY);
  return [subtitle("Targets outranked by adversaries"), box];
}

/** Change something above a section; if that section is in view, it stays where it is. */
function keepInView(section, change) {
  const before = section?.getBoundingClientRect().top ?? Infinity;
  change();
  if (before < window.innerHeight / 2) window.scrollBy(0, section.getBoundingClientRect().top - before);
}

function displacedContent(data, rankings) {
  if (!rankings) return note("This file has no rankings.");
  const displaced = findDisplacements(data, rankings);
  const names = rankedNames(data).filter((name) => displaced.has(name));
  if (!names.length) return note("No adversary outranked a target.");
  const { challenger } = data.results;
  const options = names.map((name) => [name, `${shownName(data, name)} (${displaced.get(name).length})`]);
  const state = { engine: names.includes(challenger) ? challenger : names[0] };
  return [
    chooser("adversaries", state, [{ key: "engine", label: "Engine", options }], ({ engine }) =>
      displacedTable(data, displaced, engine),
    ),
    note(
      sentences(
        `Ranks count distinct results, by ${data.level}.`,
        data.level !== "file" && "The shares above are by file.",
        "Not found: the target is not among the first results. Failed queries count above, and are not listed.",
        "Also: the number of other engines that rank the same adversary above the target.",
      ),
    ),
  ];
}

/** Return the displaced headline queries by engine: [{unit, adversary, key, rank, target}]. */
function findDisplacements(data, rankings) {
  const isPrimary = (target) => target.grade >= PRIMARY_GRADE;
  const units = data.headlines.filter(({ query }) => query.adversaries.length > 0 && query.targets.some(isPrimary));
  const rowsOf = (engine) =>
    units.map((unit) => displacementIn(rankings.ranking(engine, unit.index), unit, data.results.k)).filter(Boolean);
  const all = data.engines.map(({ name }, engine) => [name, rowsOf(engine)]);
  return new Map(all.filter(([, rows]) => rows.length));
}

/** Return the adversary that outranks every primary target of a ranking; null if none does. */
function displacementIn(ranking, unit, k) {
  const { targets, adversaries } = unit.query;
  const hits = ranking.hits.filter(({ mark, rank }) => mark && rank <= k);
  const isPrimary = ({ mark }) => mark.target !== undefined && targets[mark.target].grade >= PRIMARY_GRADE;
  const target = hits.find(isPrimary)?.rank ?? null;
  const first = hits.find(({ mark }) => mark.adversary !== undefined);
  if (!first || (target !== null && target < first.rank)) return null;
  const number = first.mark.adversary;
  return { unit, adversary: adversaries[number], key: `${unit.index}/${number}`, rank: first.rank, target };
}

/** List the queries of an engine whose targets were outranked, the largest falls first. */
function displacedTable(data, displaced, engine) {
  const missing = data.results.k + 1;
  const fall = (row) => (row.target ?? missing) - row.rank;
  const others = (row) => [...displaced.values()].flat().filter(({ key }) => key === row.key).length - 1;
  const params = { engines: namesParam([engine]) };
  return table({
    caption: `Queries whose target was outranked, ${engine}`,
    rows: displaced.get(engine),
    slice: SHOWN_QUERIES_DISPLACED,
    rowHref: (row) => queryHref(row.unit, params),
    sort: { id: "fall", descending: true },
    columns: [
      headColumn("query", "Query", (row) => row.unit.query.id, { cell: (row) => queryCell(data, row.unit, params) }),
      textColumn("adversary", "Outranked by", (row) => spanText(row.adversary), { cell: adversaryCell }),
      numberColumn("rank", "At rank", (row) => row.rank, null, { first: "ascending" }),
      numberColumn("answer", "Target at", (row) => row.target ?? missing, null, {
        text: (row) => (row.target === null ? "not found" : String(row.target)),
      }),
      numberColumn("fall", "Fall", fall, null, {
        tip: `ranks between them; a missing target counts as rank ${missing}`,
      }),
      numberColumn("also", "Also", others, (count) => `${count} of ${data.engines.length - 1}`, {
        tip: "other engines that rank this adversary above the target",
      }),
    ],
  });
}

function adversaryCell({ adversary }) {
  const { strength, relationship, confusion } = adversary;
  return h("span.adversary-cell", [
    h("code", spanText(adversary)),
    h("span.query-text", `${strength} ${relationship}: ${confusion}`),
  ]);
}

// The rankings of the selected engines side by side, and the scores of all engines on the query.

import { h, option } from "../../common/dom.js";
import { counted, duration, fixed, isNumber } from "../../common/format.js";
import { headColumn, numberColumn, table, textColumn } from "../../common/table.js";
import { distinctRanks, firstRank, matchDistinct, shareLines } from "../pairs.js";
import { omissionNote, spanNodes } from "../parts.js";
import { engineColor } from "../report/parts.js";
import { gradeName, letterOf, sourceAnchor } from "./source.js";

const REPEATED = "Duplicate of a result above; measures ignore it";

/** Draw one column per selected engine; `select(engines)` changes the selection. */
export function rankingColumns(view, select) {
  const { data, unit, engines, loaded } = view;
  const title = h("h2", { id: "rankings-title" }, "Rankings");
  const section = (...content) => h("section", { "aria-labelledby": "rankings-title" }, title, content);
  if (!loaded.rankings) return section(omissionNote(data, "rankings"));
  if (!engines.length) return section(h("p.note", "No engine selected. Select engines in the table below."));
  const first = loaded.rankings.ranking(engines[0], unit.index);
  const columns = engines.map((engine, column) => rankingColumn(view, engine, column, first, select));
  return section(engineAdder(view, select), h("div.rankings", columns));
}

function engineAdder({ data, engines }, select) {
  const others = [...data.engines.keys()].filter((index) => !engines.includes(index));
  if (!others.length) return null;
  const input = h("select", { onchange: () => input.value && select([...engines, Number(input.value)]) }, [
    option("", "Add an engine…"),
    others.map((index) => option(index, data.engines[index].name)),
  ]);
  return h("label.adder.no-print", h("span.visually-hidden", "Add an engine"), input);
}

function rankingColumn(view, engine, column, first, select) {
  const { data, unit } = view;
  const ranking = view.loaded.rankings.ranking(engine, unit.index);
  const { name } = data.engines[engine];
  const ranks = distinctRanks(ranking.hits, data.level);
  const ranksInFirst = column ? matchDistinct(first.hits, ranking.hits, data.level) : new Map();
  const hide = () => select(view.engines.filter((other) => other !== engine));
  return h("section.ranking", { "aria-label": `Ranking of ${name}` }, [
    h("header", [
      h("h3", h("span.letter", { class: engineColor(data, name) }, letterOf(column)), " ", name),
      h("button.quiet-button.no-print", { "aria-label": `Hide ${name}`, onclick: hide }, "×"),
    ]),
    h("p.note", rankingSummary(view, engine, ranking)),
    ranking.status !== "ok" &&
      h("p.warning", [
        h("strong", ranking.status),
        ranking.error && `: ${ranking.error}`,
        h("span.charged", "A failed query gets the worst value of every measure."),
      ]),
    h(
      "ol",
      ranking.hits.map((hit, index) => hitItem(view, hit, ranks[index], ranksInFirst.get(ranks[index]))),
    ),
    h("p.note", missingTargets(data.level, unit.query.targets, ranking.hits)),
  ]);
}

function rankingSummary({ data, unit }, engine, ranking) {
  const rank = firstRank(data, engine, unit);
  return [
    `${data.primary} ${fixed(data.value(engine, data.primary, unit.index))}`,
    rank ? `first target at ${rank}` : "no target found",
    counted(ranking.hits.length, "result"),
    timeOf(data, ranking) !== null && duration(ranking.seconds),
  ]
    .filter(Boolean)
    .join(" · ");
}

function hitItem(view, hit, rank, rankInFirst) {
  const kind = hit.mark === null ? "" : hit.mark.target === undefined ? "adversary" : "answer";
  const anchor = sourceAnchor(view, hit);
  const details = [
    hit.score === null ? null : `score ${fixed(hit.score)}`,
    hit.tokens === null ? null : counted(hit.tokens, "token"),
  ];
  return h("li.hit", { class: kind }, [
    rank ? h("span.rank", rank) : h("span.rank", { title: REPEATED }, "="),
    h("div.hit-body", [
      anchor
        ? h("button.place", { title: "Show the source", onclick: () => showSource(anchor) }, spanNodes(hit))
        : h("span.place", spanNodes(hit)),
      h("span.hit-facts", [
        hit.mark && markBadge(hit, view.unit.query),
        rankInFirst !== undefined && rankChange(rank, rankInFirst),
        h("span.soft", details.filter(Boolean).join(" · ")),
      ]),
    ]),
  ]);
}

function showSource(anchor) {
  const line = document.getElementById(anchor);
  line.closest("details").open = true;
  line.scrollIntoView({ block: "center" });
  line.focus({ preventScroll: true });
}

function markBadge(hit, { targets, adversaries }) {
  const { target, adversary } = hit.mark;
  if (target === undefined) return h("span.badge.bad", `✗ ${adversaries[adversary].relationship}`);
  const note = targets.some((span) => shareLines(hit, span)) ? "" : " · right file, other lines";
  return h("span.badge.good", `✓ ${gradeName(targets[target].grade)}${note}`);
}

function rankChange(rank, before) {
  const sign = before === rank ? "=" : before > rank ? "↑" : "↓";
  return h("span.moved", { title: `A ranks it ${before}` }, `${sign} A #${before}`);
}

function missingTargets(level, targets, hits) {
  const found = new Set(hits.map((hit) => hit.mark?.target).filter((target) => target !== undefined));
  const paths = new Set([...found].map((target) => targets[target].path));
  const isFound = ({ path }, index) => found.has(index) || (level === "file" && paths.has(path));
  const missing = targets.filter((target, index) => !isFound(target, index));
  if (missing.length && !found.size) return `No target was found (0 of ${missing.length}).`;
  if (missing.length)
    return ["Not found: ", missing.map(({ anchor }, index) => [index ? ", " : null, h("code", anchor)])];
  const allLines = targets.every((target) => hits.some((hit) => shareLines(hit, target)));
  return allLines ? "All targets were found." : "The files of all targets were found, but not all of their lines.";
}

// --- the scores of all engines -------------------------------------------------------------------------------------

/** Draw the scores of every engine on this query; a checkbox in each row shows its ranking. */
export function engineScores(view, select) {
  const { data, unit, engines, loaded } = view;
  const rows = data.engines.map((engine, index) => {
    return { engine, index, ranking: loaded.rankings?.ranking(index, unit.index) ?? null };
  });
  const toggle = (index, shown) => select(shown ? [...engines, index] : engines.filter((other) => other !== index));
  const tokens = (row) => row.ranking?.hits.reduce((sum, hit) => sum + (hit.tokens ?? 0), 0) ?? null;
  const ascending = { first: "ascending" };
  const columns = [
    textColumn("shown", "Shown", () => null, {
      fixed: true,
      text: (row) => (engines.includes(row.index) ? letterOf(engines.indexOf(row.index)) : ""),
      cell: ({ engine, index }) =>
        h("input", {
          type: "checkbox",
          checked: engines.includes(index),
          "aria-label": `Show the ranking of ${engine.name}`,
          onchange: (event) => toggle(index, event.target.checked),
        }),
    }),
    headColumn("engine", "Engine", (row) => row.engine.name, {
      cell: ({ engine }) => [engine.name, engine.role === "candidate" ? null : h("span.note", ` ${engine.role}`)],
    }),
    ...data.measures.map(({ name, higher }) =>
      numberColumn(name, name, (row) => data.value(row.index, name, unit.index), 3, higher ? {} : ascending),
    ),
    numberColumn(
      "rank",
      "Rank",
      (row) => firstRank(data, row.index, unit),
      (rank) => String(rank ?? "–"),
      { ...ascending, tip: "Of the first target" },
    ),
    numberColumn("tokens", "Tokens", tokens, null, { ...ascending, tip: "Of all results together" }),
    numberColumn("seconds", "Time", (row) => timeOf(data, row.ranking), duration, ascending),
    textColumn("status", "Status", (row) => row.ranking?.status ?? null, { cell: statusCell }),
  ];
  return h("section", { "aria-labelledby": "scores-title" }, [
    h("h2", { id: "scores-title" }, "All engines on this query"),
    table({
      caption: "All engines on this query",
      columns,
      rows,
      sort: { id: data.primary, descending: data.primaryMeasure.higher },
    }),
  ]);
}

/** Return the seconds of a ranking; null if times were not measured. */
function timeOf(data, ranking) {
  return data.results.header.timed && isNumber(ranking?.seconds) ? ranking.seconds : null;
}

function statusCell({ ranking }) {
  const status = ranking?.status ?? "–";
  return status === "ok" ? h("span.soft", "ok") : h("span.badge.bad", { title: ranking?.error }, status);
}

// The rankings of the chosen engines side by side: which hit is an answer, which an adversary, and where A had it.

import { h, option } from "../../common/dom.js";
import { counted, duration, fixed, isNumber } from "../../common/format.js";
import { rankAt } from "../pairs.js";
import { gradeName } from "./gold.js";
import { letterOf } from "./engines.js";
import { missingBlock } from "../missing.js";
import { commonLines, distinctRanks, matchDistinct } from "../moving.js";
import { placeNodes } from "../places.js";
import { sourceAnchor } from "./source.js";

const REPEATED = "It repeats a result above: scores do not count it";

/** Draw one column an engine. */
export function rankingColumns(view, choose) {
  const title = h("h2", { id: "rankings-title" }, "Rankings");
  const section = (...content) => h("section", { "aria-labelledby": "rankings-title" }, title, ...content);
  if (!view.loaded.rankings) return section(missingBlock(view.data, "rankings"));
  if (!view.engines.length) return section(h("p.note", "No engine is chosen: tick some in the table below."));
  const first = view.loaded.rankings.ranking(view.engines[0], view.unit.index);
  const columns = view.engines.map((engine, place) => rankingColumn(view, engine, place, place ? first : null, choose));
  return section(engineAdder(view, choose), h("div.rankings", columns));
}

/** Let another engine be added. */
function engineAdder(view, choose) {
  const others = view.data.engines
    .map((engine, place) => ({ engine, place }))
    .filter(({ place }) => !view.engines.includes(place));
  if (!others.length) return null;
  const input = h("select", { onchange: () => input.value && choose([...view.engines, Number(input.value)]) }, [
    option("", "Add an engine…"),
    others.map(({ engine, place }) => option(place, engine.name)),
  ]);
  return h("label.adder.no-print", h("span.visually-hidden", "Add an engine"), input);
}

/** Draw the ranking of one engine. */
function rankingColumn(view, engine, place, first, choose) {
  const { data, unit } = view;
  const ranking = view.loaded.rankings.ranking(engine, unit.index);
  const { name } = data.engines[engine];
  const ranks = distinctRanks(ranking.hits, data.level);
  const moved = first ? matchDistinct(first.hits, ranking.hits, data.level) : new Map();
  const remove = h(
    "button.quiet-button.no-print",
    { "aria-label": `Hide ${name}`, onclick: () => choose(view.engines.filter((one) => one !== engine)) },
    ["×"],
  );
  return h("section.ranking", { "aria-label": `Ranking of ${name}` }, [
    h("header", h("h3", h("span.letter", letterOf(place)), " ", name), remove),
    h("p.note", rankingFacts(view, engine, ranking)),
    failureText(ranking),
    h(
      "ol",
      ranking.hits.map((hit, at) => hitItem(view, hit, ranks[at], moved)),
    ),
    rankingEnd(view, ranking),
  ]);
}

/** Say in a line how an engine did. */
function rankingFacts({ data, unit }, engine, ranking) {
  const rank = rankAt(data, engine, unit);
  const timed = data.results.header.timed && isNumber(ranking.seconds) ? duration(ranking.seconds) : null;
  return [
    `${data.primary} ${fixed(data.value(engine, data.primary, unit.index))}`,
    rank ? `first answer at ${rank}` : "no answer found",
    counted(ranking.hits.length, "result"),
    timed,
  ]
    .filter(Boolean)
    .join(" · ");
}

/** Say that an engine failed, and with which words. */
function failureText(ranking) {
  if (ranking.status === "ok") return null;
  return h("p.warning", [
    h("strong", ranking.status),
    ranking.error ? `: ${ranking.error}` : null,
    h("span.charged", "It takes the worst value of every measure."),
  ]);
}

/** Draw one hit. */
function hitItem(view, hit, rank, moved) {
  const { query } = view.unit;
  const kind = hit.mark === null ? "" : hit.mark.target === undefined ? "adversary" : "answer";
  const anchor = sourceAnchor(view, hit);
  const name = placeNodes(hit);
  return h("li", { class: `hit ${kind}` }, [
    rank ? h("span.rank", rank) : h("span.rank", { title: REPEATED }, "="),
    h("div.hit-body", [
      anchor
        ? h("button.place", { title: "Show the source", onclick: () => showSource(anchor) }, name)
        : h("span.place", name),
      h("span.hit-facts", markBadge(hit, query), movedText(rank, moved), hitScoreText(hit)),
    ]),
  ]);
}

/** Go to the source of a hit. */
function showSource(anchor) {
  const target = document.getElementById(anchor);
  target.closest("details").open = true;
  target.scrollIntoView({ block: "center" });
  target.focus({ preventScroll: true });
}

/** Say what a hit is; one that is right by its file alone says that too. */
function markBadge({ mark, ...hit }, query) {
  if (mark === null) return null;
  if (mark.target === undefined) return h("span.badge.bad", `✗ ${query.adversaries[mark.adversary].relationship}`);
  const beside = !query.targets.some((target) => commonLines(hit, target));
  const grade = gradeName(query.targets[mark.target].grade);
  return h("span.badge.good", beside ? `✓ ${grade} · right file, other lines` : `✓ ${grade}`);
}

/** Say where the first engine has the same place. */
function movedText(rank, moved) {
  const there = moved.get(rank);
  if (there === undefined) return null;
  const sign = there === rank ? "=" : there > rank ? "↑" : "↓";
  return h("span.moved", { title: `A has it at rank ${there}` }, `${sign} A #${there}`);
}

/** Write score and tokens. */
function hitScoreText(hit) {
  const parts = [
    hit.score === null ? null : `score ${fixed(hit.score)}`,
    hit.tokens === null ? null : counted(hit.tokens, "token"),
  ];
  return h("span.soft", parts.filter(Boolean).join(" · "));
}

/** Say which answers did not come. */
function rankingEnd({ data, unit }, ranking) {
  const { targets } = unit.query;
  const byFile = data.level === "file"; // then a file's targets are one
  const found = new Set(ranking.hits.map((hit) => hit.mark?.target).filter((target) => target !== undefined));
  const paths = new Set([...found].map((target) => targets[target].path));
  const missing = targets.filter((target, place) => !found.has(place) && !(byFile && paths.has(target.path)));
  if (!missing.length) {
    const apart = targets.filter((target) => !ranking.hits.some((hit) => commonLines(hit, target)));
    const loose = "The file of every answer is there, but not the lines of each.";
    const said = apart.length ? loose : "Every answer is there.";
    return h("p.note", said);
  }
  if (!found.size) return h("p.note", `None of ${counted(missing.length, "answer")} is among the results.`);
  return h("p.note", ["Not found: ", missing.map((target, place) => [place ? ", " : null, h("code", target.anchor)])]);
}

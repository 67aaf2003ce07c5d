// The rankings of the chosen engines side by side: which hit is an answer, which a trap, and where A had it.

import { h } from "../common/dom.js";
import { counted, duration, fixed, isNumber } from "../common/format.js";
import { rankAt } from "./filters.js";
import { gradeName } from "./query_gold.js";
import { letterOf } from "./query_engines.js";
import { missingBlock } from "./missing.js";
import { placeNodes } from "./places.js";
import { sourceAnchor } from "./query_source.js";

/** Draw one column an engine. */
export function rankingColumns(view, choose) {
  const title = h("h2", { id: "rankings-title" }, "Rankings");
  const section = (...content) => h("section", { "aria-labelledby": "rankings-title" }, title, ...content);
  if (!view.loaded.rankings) return section(missingBlock(view.data, "rankings"));
  if (!view.engines.length)
    return section(h("p", { class: "note" }, "No engine is chosen: tick some in the table below."));
  const first = view.loaded.rankings.ranking(view.engines[0], view.unit.index);
  const columns = view.engines.map((engine, place) => rankingColumn(view, engine, place, place ? first : null, choose));
  return section(engineAdder(view, choose), h("div", { class: "rankings" }, columns));
}

/** Let another engine be added. */
function engineAdder(view, choose) {
  const others = view.data.engines
    .map((engine, place) => ({ engine, place }))
    .filter(({ place }) => !view.engines.includes(place));
  if (!others.length) return null;
  const input = h(
    "select",
    { onchange: () => input.value && choose([...view.engines, Number(input.value)]) },
    h("option", { value: "" }, "Add an engine…"),
    others.map(({ engine, place }) => h("option", { value: place }, engine.name)),
  );
  return h("label", { class: "adder no-print" }, h("span", { class: "visually-hidden" }, "Add an engine"), input);
}

/** Draw the ranking of one engine. */
function rankingColumn(view, engine, place, first, choose) {
  const { data, unit } = view;
  const ranking = view.loaded.rankings.ranking(engine, unit.index);
  const { name } = data.engines[engine];
  const remove = h(
    "button",
    {
      type: "button",
      class: "quiet-button no-print",
      "aria-label": `Hide ${name}`,
      onclick: () => choose(view.engines.filter((one) => one !== engine)),
    },
    "×",
  );
  return h(
    "section",
    { class: "ranking", "aria-label": `Ranking of ${name}` },
    h("header", null, h("h3", null, h("span", { class: "letter" }, letterOf(place)), " ", name), remove),
    h("p", { class: "note" }, rankingFacts(view, engine, ranking)),
    failureText(ranking),
    h(
      "ol",
      null,
      ranking.hits.map((hit, at) => hitItem(view, hit, at, first)),
    ),
    rankingEnd(view, ranking),
  );
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
  return h(
    "p",
    { class: "warning" },
    h("strong", null, ranking.status),
    ranking.error ? `: ${ranking.error}` : null,
    h("span", { class: "charged" }, "It takes the worst value of every measure."),
  );
}

/** Draw one hit. */
function hitItem(view, hit, at, first) {
  const { query } = view.unit;
  const kind = hit.mark === null ? "" : hit.mark.target === undefined ? "trap" : "answer";
  const anchor = sourceAnchor(view, hit);
  const name = placeNodes(hit);
  return h(
    "li",
    { class: `hit ${kind}` },
    h("span", { class: "rank" }, at + 1),
    h(
      "div",
      { class: "hit-body" },
      anchor
        ? h(
            "button",
            { type: "button", class: "place", title: "Show the source", onclick: () => showSource(anchor) },
            name,
          )
        : h("span", { class: "place" }, name),
      h("span", { class: "hit-facts" }, markBadge(hit.mark, query), movedText(hit, at, first), hitScoreText(hit)),
    ),
  );
}

/** Go to the source of a hit. */
function showSource(anchor) {
  const target = document.getElementById(anchor);
  target.closest("details").open = true;
  target.scrollIntoView({ block: "center" });
  target.focus({ preventScroll: true });
}

/** Say what a hit is. */
function markBadge(mark, query) {
  if (mark === null) return null;
  if (mark.target !== undefined)
    return h("span", { class: "badge good" }, `✓ ${gradeName(query.targets[mark.target].grade)}`);
  return h("span", { class: "badge bad" }, `✗ ${query.adversaries[mark.adversary].relationship}`);
}

/** Say where the first engine has the same place. */
function movedText(hit, at, first) {
  if (!first) return null;
  const there = first.hits.findIndex((other) => overlapping(hit, other));
  if (there < 0) return null;
  const sign = there === at ? "=" : there > at ? "↑" : "↓";
  return h("span", { class: "moved", title: `A has it at rank ${there + 1}` }, `${sign} A #${there + 1}`);
}

/** Tell whether two hits have a line in common. */
function overlapping(one, other) {
  if (one.path !== other.path) return false;
  return !one.start || !other.start || (one.start <= other.end && other.start <= one.end);
}

/** Write score and tokens. */
function hitScoreText(hit) {
  const parts = [
    hit.score === null ? null : `score ${fixed(hit.score)}`,
    hit.tokens === null ? null : counted(hit.tokens, "token"),
  ];
  return h("span", { class: "soft" }, parts.filter(Boolean).join(" · "));
}

/** Say which answers did not come. */
function rankingEnd({ data, unit }, ranking) {
  const { targets } = unit.query;
  const byFile = data.results.ranks[0]?.level === "file"; // then a file's targets are one
  const found = new Set(ranking.hits.map((hit) => hit.mark?.target).filter((target) => target !== undefined));
  const paths = new Set([...found].map((target) => targets[target].path));
  const missing = targets.filter((target, place) => !found.has(place) && !(byFile && paths.has(target.path)));
  if (!missing.length) return h("p", { class: "note" }, "Every answer is there.");
  if (!found.size)
    return h("p", { class: "note" }, `None of ${counted(missing.length, "answer")} is among the results.`);
  return h(
    "p",
    { class: "note" },
    "Not found: ",
    missing.map((target, place) => [place ? ", " : null, h("code", null, target.anchor)]),
  );
}

// The page of one query: its text and targets, the rankings of engines, the source, and the trace.

import { fill, h } from "../../common/dom.js";
import { fixed, grouped, markdownCode, markdownTable, markdownText, spanText } from "../../common/format.js";
import { copyButton, setViewKeys } from "../../common/page.js";
import { goTo, noteRoute } from "../../common/route.js";
import { listedRows } from "../list.js";
import { distinctHits, pairOf } from "../pairs.js";
import { namesOf, namesParam, queriesHref, queryHref } from "../parts.js";
import { renderRerun } from "../rerun.js";
import { engineScores, rankingColumns } from "./rankings.js";
import { gradeName, sourceSection } from "./source.js";
import { traceSection } from "./trace.js";

/** Draw the page of a query. Large blocks are unpacked after the text is shown. */
export async function renderQuery(data, unit, params, container) {
  const names = ["rankings", "source", "scores", "trace", "live"];
  const slots = Object.fromEntries(names.map((name) => [name, h("div", { class: `query-${name}` })]));
  const view = { data, unit, params, slots, engines: selectedEngines(data, params), loaded: null };
  const position = positionInList(view, params.status ? await data.load("rankings") : null);
  const head = queryHead(view, position);
  fill(container, h("article.query-view", [head, goldPanel(unit.query), names.map((name) => slots[name])]));
  const step = (target) => target && goTo(queryHref(target, params));
  setViewKeys([
    { keys: ["j", "n"], label: "Next query of the list", run: () => step(position.after) },
    { keys: ["k", "p"], label: "Previous query of the list", run: () => step(position.before) },
    { keys: ["u"], label: "Back to the list", run: () => goTo(queriesHref({ ...params, engines: null })) },
  ]);
  const blocks = ["rankings", "sources", "traces"].map((name) => data.load(name));
  const [rankings, sources, traces] = await Promise.all(blocks);
  if (!slots.rankings.isConnected) return;
  view.loaded = { rankings, sources, traces };
  drawRankings(view);
  fill(slots.trace, traceSection(view));
  renderRerun(data, unit, slots.live);
}

/** Draw the parts that depend on the selected engines. */
function drawRankings(view) {
  const select = (engines) => {
    view.engines = engines;
    view.params = { ...view.params, engines: enginesParam(view, engines) };
    noteRoute(queryHref(view.unit, view.params));
    drawRankings(view);
  };
  fill(view.slots.rankings, rankingColumns(view, select));
  fill(view.slots.scores, engineScores(view, select));
  fill(view.slots.source, sourceSection(view));
}

/** Return the engines shown: those in the address, else the compared pair. */
function selectedEngines(data, params) {
  const named = namesOf(params.engines)
    .map(data.engineIndex)
    .filter((index) => index >= 0);
  const { a, b } = pairOf(data, params);
  return [...new Set(named.length ? named : [a, b])];
}

/** Return the parameter of the engines shown; null for the compared pair. */
function enginesParam({ data, params }, engines) {
  const { a, b } = pairOf(data, params);
  const isDefault = String(engines) === String([...new Set([a, b])]);
  return isDefault ? null : namesParam(engines.map((engine) => data.engines[engine].name));
}

/** Return the query's position in the list that its address describes: {total, index, before, after}. */
function positionInList({ data, unit, params }, rankings) {
  const units = listedRows(data, params, rankings).map((row) => row.unit);
  const index = units.indexOf(unit);
  return { total: units.length, index, before: units[index - 1], after: units[index + 1] };
}

// --- head: text, labels, phrasings, neighbors ----------------------------------------------------------------------

function queryHead(view, { total, index, before, after }) {
  const { unit, params } = view;
  const { id, line, tags } = unit.query;
  const step = (neighbor, word, key, rel) =>
    neighbor
      ? h("a.step", { href: queryHref(neighbor, params), rel }, word, " ", h("kbd", { "aria-hidden": "true" }, key))
      : h("span.soft.step", word);
  return h("header.query-head", [
    h("nav.query-nav", { "aria-label": "Queries" }, [
      h("a", { href: queriesHref({ ...params, engines: null }) }, "← All queries"),
      h("span.note", index < 0 ? "not in this list" : `${grouped(index + 1)} of ${grouped(total)}`),
      step(before, "Previous", "k", "prev"),
      step(after, "Next", "j", "next"),
      h("span.spacer"),
      copyButton(() => queryMarkdown(view)),
    ]),
    h("p.kicker", `${unit.gold} / ${id}`, line && ` · line ${line} of its gold file`),
    h("h1", unit.text),
    h("ul.chips", { "aria-label": "Labels" }, [
      h("li.chip", `repository: ${unit.repository}`),
      Object.entries(tags).map(([name, value]) => h("li.chip", `${name}: ${value}`)),
      unit.leak &&
        h(
          "li.badge.warn",
          { title: "The headline contains part of a target's path or symbol" },
          "leakage: part of the target's name is in the query",
        ),
    ]),
    phrasingLinks(view),
  ]);
}

/** Link to the other phrasings of the query, with the scores of both engines. */
function phrasingLinks({ data, unit, params }) {
  if (unit.query.units.length < 2) return h("p.note", `Phrasing: ${unit.form}`);
  const { a, b, measure } = pairOf(data, params);
  const score = (engine, index) => fixed(data.value(engine, measure.name, index), 2);
  const items = unit.query.units.map((index) => {
    const other = data.units[index];
    const current = other === unit ? "page" : null;
    return h("li", [
      h("a", { href: queryHref(other, params), "aria-current": current, title: other.text }, other.form),
      h("span.note", `${score(a, index)} → ${score(b, index)}`),
    ]);
  });
  return h("nav.phrasings", { "aria-label": "Phrasings" }, [
    h("ul", items),
    h("span.note", `${measure.name}, ${data.engines[a].name} → ${data.engines[b].name}`),
  ]);
}

// --- gold: targets, adversaries, rationale -------------------------------------------------------------------------

function goldPanel({ targets, adversaries, rationale, measures }) {
  const entry = (badge, anchor, note) => h("li", badge, " ", h("code", anchor), note && h("span.note", ` ${note}`));
  const lines = ({ symbol, start, end }) => symbol && start && `lines ${start}–${end}`;
  return h("section.card.gold-panel", { "aria-labelledby": "gold-title" }, [
    h("h2", { id: "gold-title" }, "Targets"),
    h("ul.places", [
      targets.map((target) =>
        entry(h("span.badge.good", `✓ ${gradeName(target.grade)}`), target.anchor, lines(target)),
      ),
    ]),
    adversaries.length > 0 && [
      h("h3", "Adversaries"),
      h("ul.places", [
        adversaries.map(({ relationship, anchor, strength, confusion }) => {
          const note = [strength, confusion].filter(Boolean).join(": ");
          return entry(h("span.badge.bad", `✗ ${relationship}`), anchor, note);
        }),
      ]),
    ],
    rationaleList(rationale ?? {}),
    measures.length > 0 && h("p.note", `Measures requested by this query: ${measures.join(", ")}.`),
  ]);
}

function rationaleList({ owner, reason, boundary }) {
  const rows = Object.entries({ Owner: owner, Reason: reason, Boundary: boundary }).filter(([, text]) => text);
  return (
    rows.length > 0 &&
    h(
      "dl.rationale",
      rows.map(([name, text]) => [h("dt", name), h("dd", text)]),
    )
  );
}

// --- Markdown: the page for an issue, a pull request or a chat -----------------------------------------------------

/** Format the query, its targets and the selected rankings. */
function queryMarkdown({ data, unit, engines, loaded }) {
  const { query } = unit;
  const adversary = ({ relationship, anchor, confusion }) =>
    `- ✗ ${markdownText(relationship)}: ${markdownCode(anchor)} ${markdownText(confusion ?? "")}`.trimEnd();
  const lines = [
    `### ${markdownText(unit.text)}`,
    "",
    `${markdownCode(`${unit.gold}/${query.id}`)} · ${markdownText(unit.form)}`,
    "",
    ...query.targets.map((target) => `- ✓ ${gradeName(target.grade)}: ${markdownCode(target.anchor)}`),
    ...query.adversaries.map(adversary),
    "",
  ];
  if (loaded?.rankings && engines.length) lines.push(rankingsMarkdown(data, unit, engines, loaded.rankings));
  return `${lines.join("\n").trimEnd()}\n`;
}

/** Format rankings as a table with one column per engine; repeated hits have no rank and are left out. */
function rankingsMarkdown(data, unit, engines, rankings) {
  const all = engines.map((engine) => rankings.ranking(engine, unit.index));
  const hitLists = all.map(({ hits }) => distinctHits(hits, data.level));
  const titles = engines.map((engine) => {
    const score = fixed(data.value(engine, data.primary, unit.index));
    return `${data.engines[engine].name} (${data.primary} ${score})`;
  });
  const rows = Array.from({ length: Math.max(...hitLists.map((hits) => hits.length)) }, (_, index) => [
    String(index + 1),
    ...hitLists.map((hits) => hitText(hits[index])),
  ]);
  const failures = all.map(({ status, error }) => (status === "ok" ? "" : [status, error].filter(Boolean).join(": ")));
  if (failures.some(Boolean)) rows.push(["", ...failures]);
  return markdownTable(["#", ...titles], ["right"], rows);
}

function hitText(hit) {
  if (!hit) return "";
  const sign = hit.mark === null ? "" : hit.mark.target === undefined ? "✗ " : "✓ ";
  return sign + spanText(hit);
}

// The page of one query: what was asked and what is right, who answered what, the source, and why.

import { h, fill } from "../../common/dom.js";
import { goTo, noteRoute } from "../../common/route.js";
import { setViewKeys } from "../../common/keys.js";
import { copyButton } from "../../common/copying.js";
import { pairOf } from "../pairs.js";
import { listedRows } from "../list/filters.js";
import { listColumns } from "../list/columns.js";
import { queriesHref, queryHref } from "../links.js";
import { queryHead } from "./head.js";
import { goldPanel } from "./gold.js";
import { rankingColumns } from "./rankings.js";
import { engineScores, chosenEngines, enginesParam } from "./engines.js";
import { sourcePanel } from "./source.js";
import { tracePanel } from "./trace.js";
import { queryMarkdown } from "./markdown.js";
import { renderLive } from "../rerun/panel.js";

/** Draw one query's page. What is big is unpacked after the text stands there. */
export async function renderQuery(data, unit, params, container) {
  const places = ["rankings", "source", "scores", "trace", "live"];
  const slots = Object.fromEntries(places.map((name) => [name, h("div", { class: `query-${name}` })]));
  const view = { data, unit, params, slots, engines: chosenEngines(data, params), loaded: null };
  const way = wayThrough(view, params.status ? await data.load("rankings") : null);
  const copy = copyButton(() => queryMarkdown(view));
  fill(
    container,
    h("article.query-view", [queryHead(view, way, copy), goldPanel(data, unit), places.map((name) => slots[name])]),
  );
  setViewKeys(queryKeys(way, params));
  const [rankings, sources, traces] = await Promise.all(
    ["rankings", "sources", "traces"].map((name) => data.load(name)),
  );
  if (!slots.rankings.isConnected) return;
  view.loaded = { rankings, sources, traces };
  drawAnswers(view);
  fill(slots.trace, tracePanel(view));
  renderLive(data, unit, slots.live);
}

/** Draw what depends on which engines are chosen. */
function drawAnswers(view) {
  const choose = (engines) => {
    view.engines = engines;
    view.params = { ...view.params, engines: enginesParam(view.data, engines, pairOf(view.data, view.params)) };
    noteRoute(queryHref(view.unit, view.params));
    drawAnswers(view);
  };
  fill(view.slots.rankings, rankingColumns(view, choose));
  fill(view.slots.scores, engineScores(view, choose));
  fill(view.slots.source, sourcePanel(view));
}

/** Find the query's place in the list that its address describes: {total, at, before, after}. */
function wayThrough({ data, unit, params }, rankings) {
  const rows = listedRows(data, params, listColumns(data, params), rankings).map((row) => row.unit);
  const at = rows.indexOf(unit);
  return {
    total: rows.length,
    at,
    before: rows[at - 1] ?? null,
    after: at < 0 ? (rows[0] ?? null) : (rows[at + 1] ?? null),
  };
}

/** The keys of this view. */
function queryKeys(way, params) {
  const step = (unit) => unit && goTo(queryHref(unit, params));
  return [
    { keys: ["j", "n"], label: "Next query of the list", run: () => step(way.after) },
    { keys: ["k", "p"], label: "Previous query of the list", run: () => step(way.before) },
    { keys: ["u"], label: "Back to the list", run: () => goTo(queriesHref({ ...params, engines: null })) },
  ];
}

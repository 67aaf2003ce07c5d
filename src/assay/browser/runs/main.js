// The list of runs: newest first; one is opened by its name, two that are picked are compared.

import { askServer, problemText } from "../common/client.js";
import { fill, h } from "../common/dom.js";
import { counted } from "../common/format.js";
import { blockJson } from "../common/page.js";
import { table } from "../common/table.js";
import { runColumns } from "./columns.js";
import { runsFrame } from "./frame.js";
import { makePicks } from "./picking.js";

/** Open the page, and look again whenever somebody comes back to it. */
async function openList() {
  const about = await blockJson("runs");
  const main = runsFrame(about.review);
  const place = h("div.runs-list", h("p.note", "Looking for runs…"));
  const folders = h("p.note");
  const picks = makePicks();
  fill(main, h("h1", "Runs"), folders, place, picks.bar);
  const state = { shown: "" };
  const look = () => lookForRuns(state, place, folders, picks);
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && look());
  await look();
  document.documentElement.dataset.ready = "true";
}

/** Ask which runs there are; the list is drawn anew only where something changed. */
async function lookForRuns(state, place, folders, picks) {
  try {
    const found = await askServer("/api/runs");
    const text = JSON.stringify(found);
    if (text === state.shown) return;
    state.shown = text;
    fill(
      folders,
      counted(found.runs.length, "run"),
      " in and below ",
      found.folders.map((one, at) => [at ? ", " : null, h("code", one)]),
    );
    picks.keep(found.runs);
    fill(place, found.runs.length ? runTable(found.runs, picks) : noRuns());
  } catch (error) {
    fill(place, h("p.warning", problemText(error)));
    state.shown = "";
  }
}

/** Draw the runs as a table. */
function runTable(runs, picks) {
  return table({
    caption: "Runs, the newest first",
    columns: runColumns(picks),
    rows: runs,
    rowProps: (run) => ({ class: run.error ? "broken" : null, dataset: { run: run.id } }),
    tools: [h("span.note", "Open a run by its name, or pick two to compare them.")],
  });
}

/** Say how a run is made. */
function noRuns() {
  return h("div.card", [
    h("p", "There is no run here yet."),
    h("p", [
      "Make one with ",
      h("code", "assay run --out results"),
      ", or name another folder: ",
      h("code", "assay serve FOLDER"),
      ". This page looks again when you come back to it.",
    ]),
  ]);
}

openList();

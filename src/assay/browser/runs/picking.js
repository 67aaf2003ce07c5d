// Two runs picked from the list, the older one as the baseline, and the way to their comparison.

import { fill, h } from "../common/dom.js";

/** Keep what is picked: {bar, box(run), keep(runs)}. */
export function makePicks() {
  const state = { picked: [], boxes: new Map() };
  const bar = h("div.pick-bar", { role: "region", "aria-label": "Compare two runs", hidden: true });
  const toggle = (run) => {
    const there = state.picked.some((one) => one.id === run.id);
    // A third one takes the place of the first: the two that were picked last are meant.
    state.picked = there ? state.picked.filter((one) => one.id !== run.id) : [...state.picked, run].slice(-2);
    drawPicks(state, bar);
  };
  return {
    bar,
    box: (run) => pickBox(state, run, () => toggle(run)),
    keep: (runs) => {
      state.boxes.clear();
      const known = new Set(runs.filter((run) => !run.error).map((run) => run.id));
      state.picked = state.picked.filter((run) => known.has(run.id));
      drawPicks(state, bar);
    },
  };
}

/** Make the box that picks a run. */
function pickBox(state, run, toggle) {
  const box = h("input", { type: "checkbox", "aria-label": `Pick ${run.name} to compare`, onchange: toggle });
  box.checked = state.picked.some((one) => one.id === run.id);
  state.boxes.set(run.id, box);
  return box;
}

/** Show what is picked, and what can be done with it. */
function drawPicks(state, bar) {
  for (const [id, box] of state.boxes) box.checked = state.picked.some((run) => run.id === id);
  bar.hidden = state.picked.length === 0;
  fill(bar, state.picked.length < 2 ? onePicked(state.picked[0]) : twoPicked(state, bar));
}

/** Say that a second one is needed. */
function onePicked(run) {
  return run ? h("p", h("strong", run.name), " is picked. Pick a second run to compare the two.") : null;
}

/** Offer the comparison, and the other way round. */
function twoPicked(state, bar) {
  const [old, fresh] =
    state.swapped === pairName(state.picked) ? ordered(state.picked).reverse() : ordered(state.picked);
  const swap = () => {
    state.swapped = state.swapped === pairName(state.picked) ? null : pairName(state.picked);
    drawPicks(state, bar);
    bar.querySelector("button").focus();
  };
  const warned =
    old.gold !== fresh.gold
      ? h("p.note", "Their gold sets differ; only queries that are the same in both are compared.")
      : null;
  return [
    h("p", h("strong", fresh.name), " against ", h("strong", old.name), " as the baseline"),
    warned,
    h("div.pick-actions", [
      h("button", { onclick: swap }, "Swap"),
      h("a.primary", { href: `/compare/${encodeURIComponent(old.id)}/${encodeURIComponent(fresh.id)}` }, "Compare"),
    ]),
  ];
}

/** Put the older run first. */
function ordered(picked) {
  const older = (a, b) => a.made - b.made || a.written - b.written || (a.name < b.name ? -1 : 1);
  return [...picked].sort(older);
}

/** Name a pair, whichever was picked first. */
function pairName(picked) {
  return picked
    .map((run) => run.id)
    .sort()
    .join(" ");
}

// Two runs selected from the list, the older one as the baseline, and the link to their comparison.

import { fill, h } from "../common/dom.js";

/** Create the selection: {bar, checkbox(run), keep(runs)}. */
export function createSelection() {
  let selected = [];
  let swapped = null; // key of the pair whose baseline is the newer run
  const boxes = new Map();
  const bar = h("div.pick-bar", { role: "region", "aria-label": "Compare two runs", hidden: true });
  const isSelected = ({ id }) => selected.some((run) => run.id === id);
  const draw = () => {
    for (const [id, box] of boxes) box.checked = isSelected({ id });
    bar.hidden = selected.length === 0;
    fill(bar, selected.length < 2 ? selected.map(singleNote) : pairNote());
  };
  const toggle = (run) => {
    // A third run replaces the first.
    selected = isSelected(run) ? selected.filter(({ id }) => id !== run.id) : [...selected, run].slice(-2);
    draw();
  };
  const singleNote = ({ name }) => h("p", h("strong", name), " is picked. Pick a second run to compare the two.");
  const pairNote = () => {
    const key = selected
      .map(({ id }) => id)
      .sort()
      .join(" ");
    const older = (a, b) => a.made - b.made || a.written - b.written || (a.name < b.name ? -1 : 1);
    const ordered = [...selected].sort(older);
    const [baseline, other] = swapped === key ? ordered.reverse() : ordered;
    const swap = () => {
      swapped = swapped === key ? null : key;
      draw();
      bar.querySelector("button").focus();
    };
    const href = `/compare/${encodeURIComponent(baseline.id)}/${encodeURIComponent(other.id)}`;
    return [
      h("p", h("strong", other.name), " against ", h("strong", baseline.name), " as the baseline"),
      baseline.gold !== other.gold && h("p.note", "Their gold sets differ; only queries in both are compared."),
      h("div.pick-actions", h("button", { onclick: swap }, "Swap"), h("a.primary", { href }, "Compare")),
    ];
  };
  return {
    bar,
    checkbox: (run) => {
      const props = { type: "checkbox", "aria-label": `Pick ${run.name} to compare`, onchange: () => toggle(run) };
      const box = h("input", props);
      box.checked = isSelected(run);
      boxes.set(run.id, box);
      return box;
    },
    keep: (runs) => {
      boxes.clear();
      const readable = new Set(runs.filter((run) => !run.error).map(({ id }) => id));
      selected = selected.filter(({ id }) => readable.has(id));
      draw();
    },
  };
}

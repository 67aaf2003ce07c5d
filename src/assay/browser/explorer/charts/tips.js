// Words beside the mark that is pointed at or has the focus. The marks of one chart are one stop of the Tab key;
// arrows go from mark to mark.

import { h, tame } from "../../common/dom.js";

const GAP = 10; // pixels between a mark and its words
const STEPS_BY_KEY = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** Give a mark its words: read aloud, shown when it is pointed at, and when it has the focus. */
export function tipped(mark, words) {
  const text = tame(words);
  mark.setAttribute("role", "img");
  mark.setAttribute("aria-label", text);
  mark.classList.add("mark");
  mark.addEventListener("pointerenter", () => showTip(mark, text));
  mark.addEventListener("pointerleave", hideTip);
  mark.addEventListener("focus", () => showTip(mark, text));
  mark.addEventListener("blur", hideTip);
  return mark;
}

/** Make the marks of a chart one stop of the Tab key, walked by arrows, Home and End. */
export function walkable(chart, marks) {
  marks.forEach((mark, place) => mark.setAttribute("tabindex", place ? "-1" : "0"));
  chart.addEventListener("keydown", (event) => {
    const from = marks.indexOf(document.activeElement);
    if (event.key === "Escape") hideTip();
    if (from < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const to = { Home: 0, End: marks.length - 1 }[event.key] ?? from + (STEPS_BY_KEY[event.key] ?? 0);
    if (to === from || !marks[to]) return;
    event.preventDefault();
    event.stopPropagation();
    marks[from].setAttribute("tabindex", "-1");
    marks[to].setAttribute("tabindex", "0");
    marks[to].focus();
  });
  return chart;
}

/** Show words beside a mark. */
function showTip(mark, text) {
  const box = tipBox();
  box.textContent = text;
  box.hidden = false;
  placeTip(box, mark);
}

/** Put the words above their mark or, where there is no room, below it. */
function placeTip(box, mark) {
  const [at, size] = [mark.getBoundingClientRect(), box.getBoundingClientRect()];
  const left = Math.min(
    Math.max(4, at.left + at.width / 2 - size.width / 2),
    document.documentElement.clientWidth - size.width - 4,
  );
  const above = at.top - size.height - GAP;
  box.style.left = `${left}px`;
  box.style.top = `${above > 4 ? above : at.bottom + GAP}px`;
}

/** Take the words away. */
function hideTip() {
  tipBox().hidden = true;
}

/** Give the one box that all charts share; the words in it are read from the mark itself. */
function tipBox() {
  const found = document.getElementById("chart-tip");
  if (found) return found;
  const box = h("div.chart-tip", { id: "chart-tip", "aria-hidden": "true", hidden: true });
  document.body.append(box);
  window.addEventListener("scroll", () => followMark(box), { passive: true, capture: true });
  return box;
}

/** Keep the words at the mark that has the focus when the page is scrolled, as it is to bring that mark into sight. */
function followMark(box) {
  const focused = document.activeElement;
  if (!box.hidden && focused?.classList.contains("mark")) placeTip(box, focused);
  else box.hidden = true;
}

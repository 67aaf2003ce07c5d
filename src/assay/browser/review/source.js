// The code of a whole file: fetched block by block as it comes into sight, places marked, lines picked by number.

import { fill, h } from "../common/dom.js";
import { askPatiently } from "./asking.js";
import { troubleNote } from "./desk.js";

const BLOCK = 200; // lines that are fetched and drawn at a time: some five screens
const LINE_HEIGHT = 20; // pixels, as review.css has it: blocks that are not there yet take their place

/** Make the pane: {element, show(place, marks), pick(start, end), picked(), clear()}; `onpick` is told of picked lines. */
export function sourcePane(colours, onpick) {
  const code = h("div", { class: "code" });
  const pane = h("div", { class: "code-scroll", tabindex: "0", role: "region", "aria-label": "Source" }, code);
  const head = h("div", { class: "code-head" });
  const state = { path: "", total: 0, rows: new Map(), marks: [], pick: null, cursor: 0, turn: 0 };
  const watch = new IntersectionObserver((seen) => seen.filter((one) => one.isIntersecting).forEach((one) => loadBlock(one.target)), { root: pane, rootMargin: "400px" });

  /** Show a file at a place, with marks `{start, end, role}` in it. */
  async function show(place, marks) {
    const turn = (state.turn += 1);
    Object.assign(state, { path: place.path, marks, pick: null, cursor: place.start ?? 1 });
    pane.setAttribute("aria-label", `Source of ${place.path}. Arrow keys move, Space picks a line, Shift and arrows pick more`);
    try {
      const first = blockStart(place.start ?? 1);
      const answer = await linesOf(place.path, first, turn, (error) => fill(code, troubleNote(error)));
      if (turn !== state.turn) return;
      layOut(answer);
      fillBlock(code.children[(first - 1) / BLOCK], answer);
      scrollTo(place);
      onpick(null);
    } catch (error) {
      if (turn === state.turn) fill(code, troubleNote(error));
    }
  }

  /** Make room for all blocks of a file. */
  function layOut(answer) {
    watch.disconnect();
    state.rows.clear();
    state.total = answer.total;
    const marked = state.marks.map((mark) => (mark.start === mark.end ? `line ${mark.start}` : `lines ${mark.start}–${mark.end}`)).join(", ");
    fill(head, h("span", { class: "mono path" }, answer.path), h("span", { class: "note" }, marked ? `${marked} of ${answer.total}` : `${answer.total} lines`));
    const count = Math.ceil(answer.total / BLOCK);
    fill(code, Array.from({ length: count }, (_, place) => emptyBlock(place)));
    if (!answer.total) fill(code, h("p", { class: "note" }, "The file is empty."));
    for (const block of code.querySelectorAll(".block")) watch.observe(block);
  }

  /** Make a block that holds the place of its lines. */
  function emptyBlock(place) {
    const lines = Math.min(BLOCK, state.total - place * BLOCK);
    return h("div", { class: "block", dataset: { start: String(place * BLOCK + 1) }, style: { minHeight: `${lines * LINE_HEIGHT}px` } });
  }

  /** Fetch a block of lines, however long the server is away. */
  function linesOf(path, start, turn, waiting = () => {}) {
    return askPatiently("lines", { path, start, end: start + BLOCK - 1 }, { wanted: () => turn === state.turn, waiting });
  }

  /** Fetch a block that comes into sight. */
  async function loadBlock(block) {
    if (block.dataset.state) return;
    block.dataset.state = "asked";
    const turn = state.turn;
    const start = Number(block.dataset.start);
    try {
      const answer = await linesOf(state.path, start, turn);
      if (turn === state.turn) fillBlock(block, answer);
    } catch {
      delete block.dataset.state;
    }
  }

  /** Draw the lines of a block. */
  function fillBlock(block, answer) {
    if (!block) return;
    block.dataset.state = "there";
    fill(block, answer.rows.map((row, place) => drawLine(answer.start + place, row)));
  }

  /** Draw one line in colour. */
  function drawLine(number, row) {
    const runs = row.map(([colour, text]) => (colour ? h("span", { class: `c-${colours[colour]}` }, text) : text));
    const mark = state.marks.find((one) => one.start <= number && number <= one.end);
    const line = h("div", { class: `line${mark ? ` marked ${mark.role === "adversary" ? "adversary" : ""}` : ""}`, dataset: { line: String(number) } },
      h("span", { class: "number", title: "Click to pick the line, Shift-click to pick up to it" }, String(number)), h("span", { class: "text" }, runs.length ? runs : " "));
    state.rows.set(number, line);
    if (isPicked(number)) line.classList.add("picked");
    return line;
  }

  /** Tell whether a line is picked. */
  function isPicked(number) {
    return state.pick !== null && state.pick.start <= number && number <= state.pick.end;
  }

  /** Bring a place into sight: two lines above it, so that one sees that there is more. */
  function scrollTo(place) {
    pane.scrollTop = Math.max(0, ((place.start ?? 1) - 4) * LINE_HEIGHT);
    pane.scrollLeft = 0;
  }

  /** Pick lines; `from` stays when the pick is made larger. */
  function pick(from, to, { quiet = false } = {}) {
    const old = state.pick;
    state.pick = from === null ? null : { from, start: Math.min(from, to), end: Math.max(from, to) };
    const changed = [old, state.pick].filter(Boolean);
    for (const range of changed) {
      for (let line = range.start; line <= range.end; line += 1) state.rows.get(line)?.classList.toggle("picked", isPicked(line));
    }
    if (!quiet) onpick(state.pick && { path: state.path, start: state.pick.start, end: state.pick.end });
  }

  /** Move the line that keys are about. */
  function moveCursor(step, extend) {
    state.rows.get(state.cursor)?.classList.remove("cursor");
    const before = state.cursor;
    state.cursor = Math.min(state.total, Math.max(1, state.cursor + step));
    state.rows.get(state.cursor)?.classList.add("cursor");
    const top = (state.cursor - 1) * LINE_HEIGHT;
    if (top < pane.scrollTop || top > pane.scrollTop + pane.clientHeight - 2 * LINE_HEIGHT) pane.scrollTop = top - pane.clientHeight / 2;
    if (extend) pick(state.pick?.from ?? before, state.cursor);
  }

  pane.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) moveCursor(step, event.shiftKey);
    else if (event.key === " ") pick(state.cursor, state.cursor);
    else if (event.key === "Escape") pick(null);
    else return;
    event.preventDefault();
  });
  code.addEventListener("click", (event) => {
    const line = event.target.closest(".number")?.parentElement;
    if (!line) return;
    const number = Number(line.dataset.line);
    const single = state.pick && state.pick.start === state.pick.end && event.pointerType === "touch";
    pick((event.shiftKey || single) && state.pick ? state.pick.from : number, number);
    state.cursor = number;
  });
  return { element: h("div", { class: "source" }, head, pane), head, pane, show, pick, path: () => state.path, close: () => { state.turn += 1; watch.disconnect(); } };
}

/** Give the first line of the block that holds a line. */
function blockStart(line) {
  return Math.floor((line - 1) / BLOCK) * BLOCK + 1;
}

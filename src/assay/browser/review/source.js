// The code of a whole file. Blocks of lines are loaded when they come into view and keep their space until then; lines
// are selected by clicking their numbers, or by arrow keys and Space.

import { fill, h } from "../common/dom.js";
import { getPatiently, troubleNote } from "./session.js";

const LINE_HEIGHT = 20; // pixels, as in review.css: the height of blocks that are not loaded
const BLOCK = 200; // lines loaded at a time: about five screens
const CONTEXT = 4; // lines shown above a span

/** Create a pane: {element, head, pane, show(span, marks), select(from, to), path(), close()}. */
export function sourcePane(colors, onSelect) {
  const code = h("div.code");
  const pane = h("div.code-scroll", { tabindex: "0", role: "region", "aria-label": "Source" }, code);
  const head = h("div.code-head");
  const file = { code, pane, head, colors, onSelect, path: "", total: 0, marks: [], selection: null, cursor: 0 };
  file.request = 0;
  file.rows = new Map(); // drawn lines by number
  const load = (entries) =>
    entries.filter((entry) => entry.isIntersecting).forEach(({ target }) => loadBlock(file, target));
  file.watcher = new IntersectionObserver(load, { root: pane, rootMargin: "400px" });
  pane.addEventListener("keydown", (event) => onKey(file, event));
  code.addEventListener("click", (event) => onClick(file, event));
  return {
    element: h("div.source", head, pane),
    head,
    pane,
    show: (span, marks) => showFile(file, span, marks),
    select: (from, to, options) => selectLines(file, from, to, options),
    path: () => file.path,
    close: () => {
      file.request += 1;
      file.watcher.disconnect();
    },
  };
}

async function showFile(file, span, marks) {
  const request = (file.request += 1);
  const start = span.start ?? 1;
  Object.assign(file, { path: span.path, marks, selection: null, cursor: start });
  const keys = "Arrow keys move, Space selects a line, Shift and arrows select more";
  file.pane.setAttribute("aria-label", `Source of ${span.path}. ${keys}`);
  const showTrouble = (error) => request === file.request && fill(file.code, troubleNote(error));
  try {
    const answer = await fetchBlock(file, start, showTrouble);
    if (request !== file.request) return;
    const ranges = marks.map((mark) =>
      mark.start === mark.end ? `line ${mark.start}` : `lines ${mark.start}–${mark.end}`,
    );
    const lines = marks.length ? `${ranges.join(", ")} of ${answer.total}` : `${answer.total} lines`;
    fill(file.head, h("span.mono.path", answer.path), h("span.note", lines));
    layOutBlocks(file, answer);
    file.pane.scrollTop = Math.max(0, (start - CONTEXT) * LINE_HEIGHT);
    file.pane.scrollLeft = 0;
    file.onSelect(null);
  } catch (error) {
    showTrouble(error);
  }
}

// --- blocks --------------------------------------------------------------------------------------------------------

function fetchBlock(file, line, waiting = () => {}) {
  const { path, request } = file;
  const start = Math.floor((line - 1) / BLOCK) * BLOCK + 1;
  const wanted = () => request === file.request;
  return getPatiently("lines", { path, start, end: start + BLOCK - 1 }, { wanted, waiting });
}

/** Make room for all blocks of a file, and draw the loaded one. */
function layOutBlocks(file, answer) {
  file.watcher.disconnect();
  file.rows.clear();
  file.total = answer.total;
  const blocks = Array.from({ length: Math.ceil(answer.total / BLOCK) }, (_, index) => {
    const minHeight = `${Math.min(BLOCK, answer.total - index * BLOCK) * LINE_HEIGHT}px`;
    return h("div.block", { dataset: { start: String(index * BLOCK + 1) }, style: { minHeight } });
  });
  fill(file.code, blocks.length ? blocks : h("p.note", "The file is empty."));
  for (const block of blocks) file.watcher.observe(block);
  if (blocks.length) fillBlock(file, blocks[(answer.start - 1) / BLOCK], answer);
}

async function loadBlock(file, block) {
  if (block.dataset.state) return;
  block.dataset.state = "loading";
  const { request } = file;
  try {
    const answer = await fetchBlock(file, Number(block.dataset.start));
    if (request === file.request) fillBlock(file, block, answer);
  } catch {
    delete block.dataset.state;
  }
}

function fillBlock(file, block, answer) {
  if (!block) return;
  block.dataset.state = "loaded";
  const lines = answer.rows.map((row, index) => lineRow(file, answer.start + index, row));
  fill(block, lines);
}

/** Draw a line from its runs of [color, text]. */
function lineRow(file, number, row) {
  const mark = file.marks.find(({ start, end }) => start <= number && number <= end);
  const kind = mark ? (mark.role === "adversary" ? "marked adversary" : "marked") : "";
  const runs = row.map(([color, text]) => (color ? h("span", { class: `c-${file.colors[color]}` }, text) : text));
  const line = h("div.line", { class: kind, dataset: { line: String(number) } }, [
    h("span.number", { title: "Click to select the line, Shift-click to extend the selection" }, String(number)),
    h("span.text", runs.length ? runs : " "),
  ]);
  file.rows.set(number, line);
  line.classList.toggle("picked", isSelected(file, number));
  return line;
}

// --- selection -----------------------------------------------------------------------------------------------------

function isSelected({ selection }, number) {
  return selection !== null && selection.start <= number && number <= selection.end;
}

/** Select lines, or none; `from` stays when the selection is extended. */
function selectLines(file, from, to, { quiet = false } = {}) {
  const before = file.selection;
  file.selection = from === null ? null : { from, start: Math.min(from, to), end: Math.max(from, to) };
  for (const range of [before, file.selection].filter(Boolean))
    for (let line = range.start; line <= range.end; line += 1)
      file.rows.get(line)?.classList.toggle("picked", isSelected(file, line));
  const { selection, path } = file;
  if (!quiet) file.onSelect(selection && { path, start: selection.start, end: selection.end });
}

function onKey(file, event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) moveCursor(file, step, event.shiftKey);
  else if (event.key === " ") selectLines(file, file.cursor, file.cursor);
  else if (event.key === "Escape") selectLines(file, null);
  else return;
  event.preventDefault();
}

/** Select the clicked line, or extend the selection to it: with Shift, and with the second touch. */
function onClick(file, event) {
  const line = event.target.closest(".number")?.parentElement;
  if (!line) return;
  const number = Number(line.dataset.line);
  const { selection } = file;
  const isSecondTouch = selection && selection.start === selection.end && event.pointerType === "touch";
  selectLines(file, selection && (event.shiftKey || isSecondTouch) ? selection.from : number, number);
  file.cursor = number;
}

function moveCursor(file, step, extend) {
  const { pane, cursor: before } = file;
  file.rows.get(before)?.classList.remove("cursor");
  file.cursor = Math.min(file.total, Math.max(1, before + step));
  file.rows.get(file.cursor)?.classList.add("cursor");
  const top = (file.cursor - 1) * LINE_HEIGHT;
  if (top < pane.scrollTop || top > pane.scrollTop + pane.clientHeight - 2 * LINE_HEIGHT)
    pane.scrollTop = top - pane.clientHeight / 2;
  if (extend) selectLines(file, file.selection?.from ?? before, file.cursor);
}

// The lines of a file in blocks: each is fetched and drawn when it comes into sight, and holds its place until then.

import { fill, h } from "../common/dom.js";
import { askPatiently } from "./asking.js";
import { isPicked, LINE_HEIGHT } from "./line_picks.js";

const BLOCK = 200; // lines that are fetched and drawn at a time: some five screens

/** Fetch the block that holds a line, however long the server is away. */
export function fetchBlock(file, line, waiting = () => {}) {
  const { path, turn } = file;
  const start = Math.floor((line - 1) / BLOCK) * BLOCK + 1;
  const wanted = () => turn === file.turn;
  return askPatiently("lines", { path, start, end: start + BLOCK - 1 }, { wanted, waiting });
}

/** Watch for blocks that come into sight. */
export function watchBlocks(file) {
  const load = (seen) => seen.filter((one) => one.isIntersecting).forEach((one) => loadBlock(file, one.target));
  return new IntersectionObserver(load, { root: file.pane, rootMargin: "400px" });
}

/** Make room for all blocks of a file, and draw the one that is there. */
export function layOutBlocks(file, answer) {
  file.watch.disconnect();
  file.rows.clear();
  file.total = answer.total;
  const count = Math.ceil(answer.total / BLOCK);
  const blocks = Array.from({ length: count }, (_, place) => emptyBlock(file.total, place));
  fill(file.code, count ? blocks : h("p.note", "The file is empty."));
  for (const block of blocks) file.watch.observe(block);
  fillBlock(file, blocks[(answer.start - 1) / BLOCK], answer);
}

/** Make a block that holds the place of its lines. */
function emptyBlock(total, place) {
  const lines = Math.min(BLOCK, total - place * BLOCK);
  return h("div.block", {
    dataset: { start: String(place * BLOCK + 1) },
    style: { minHeight: `${lines * LINE_HEIGHT}px` },
  });
}

/** Fetch a block that comes into sight. */
async function loadBlock(file, block) {
  if (block.dataset.state) return;
  block.dataset.state = "asked";
  const { turn } = file;
  try {
    const answer = await fetchBlock(file, Number(block.dataset.start));
    if (turn === file.turn) fillBlock(file, block, answer);
  } catch {
    delete block.dataset.state;
  }
}

/** Draw the lines of a block. */
function fillBlock(file, block, answer) {
  if (!block) return;
  block.dataset.state = "there";
  const lines = answer.rows.map((row, place) => drawLine(file, answer.start + place, row));
  fill(block, lines);
}

/** Draw one line in colour. */
function drawLine(file, number, row) {
  const runs = row.map(([colour, text]) => (colour ? h("span", { class: `c-${file.colours[colour]}` }, text) : text));
  const line = h("div", { class: `line ${markClass(file.marks, number)}`, dataset: { line: String(number) } }, [
    h("span.number", { title: "Click to pick the line, Shift-click to pick up to it" }, String(number)),
    h("span.text", runs.length ? runs : " "),
  ]);
  file.rows.set(number, line);
  line.classList.toggle("picked", isPicked(file, number));
  return line;
}

/** Name the classes of a line that belongs to a place of the item. */
function markClass(marks, number) {
  const mark = marks.find((one) => one.start <= number && number <= one.end);
  if (!mark) return "";
  return mark.role === "adversary" ? "marked adversary" : "marked";
}

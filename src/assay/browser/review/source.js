// The code of a whole file: its blocks as they come into sight, places marked, lines picked.

import { fill, h } from "../common/dom.js";
import { fetchBlock, layOutBlocks, watchBlocks } from "./code_blocks.js";
import { troubleNote } from "./frame.js";
import { LINE_HEIGHT, listenForPicks, pickLines } from "./line_picks.js";

const ABOVE = 4; // lines: a place is not at the very top, so that one sees that there is more

/** Make a pane: {element, head, pane, show(place, marks), pick(from, to), path(), close()}; `onpick` hears of it. */
export function sourcePane(colours, onpick) {
  const code = h("div.code");
  const pane = h("div.code-scroll", { tabindex: "0", role: "region", "aria-label": "Source" }, code);
  const head = h("div.code-head");
  const file = { code, pane, head, colours, onpick, path: "", total: 0, marks: [], pick: null, cursor: 0, turn: 0 };
  file.rows = new Map(); // lines that are drawn, by number
  file.watch = watchBlocks(file);
  listenForPicks(file);
  return {
    element: h("div.source", head, pane),
    head,
    pane,
    show: (place, marks) => showFile(file, place, marks),
    pick: (from, to, options) => pickLines(file, from, to, options),
    path: () => file.path,
    close: () => {
      file.turn += 1;
      file.watch.disconnect();
    },
  };
}

/** Show a file at a place, with marks `{start, end, role}` in it. */
async function showFile(file, place, marks) {
  const turn = (file.turn += 1);
  const start = place.start ?? 1;
  Object.assign(file, { path: place.path, marks, pick: null, cursor: start });
  const keys = "Arrow keys move, Space picks a line, Shift and arrows pick more";
  file.pane.setAttribute("aria-label", `Source of ${place.path}. ${keys}`);
  const say = (error) => turn === file.turn && fill(file.code, troubleNote(error));
  try {
    const answer = await fetchBlock(file, start, say);
    if (turn !== file.turn) return;
    fill(file.head, headOf(answer, marks));
    layOutBlocks(file, answer);
    file.pane.scrollTop = Math.max(0, (start - ABOVE) * LINE_HEIGHT);
    file.pane.scrollLeft = 0;
    file.onpick(null);
  } catch (error) {
    say(error);
  }
}

/** Name the file, and the lines that are marked in it. */
function headOf(answer, marks) {
  const lines = marks.map(({ start, end }) => (start === end ? `line ${start}` : `lines ${start}–${end}`)).join(", ");
  return [
    h("span.mono.path", answer.path),
    h("span.note", lines ? `${lines} of ${answer.total}` : `${answer.total} lines`),
  ];
}

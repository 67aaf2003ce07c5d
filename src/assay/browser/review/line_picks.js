// Lines picked in the code that is shown: by number with the pointer, by arrows and Space.

export const LINE_HEIGHT = 20; // pixels, as review.css has it: blocks that are not there yet take their place

/** Tell whether a line is picked. */
export function isPicked(file, number) {
  return file.pick !== null && file.pick.start <= number && number <= file.pick.end;
}

/** Pick lines, or none; `from` stays when the pick is made larger. */
export function pickLines(file, from, to, { quiet = false } = {}) {
  const old = file.pick;
  file.pick = from === null ? null : { from, start: Math.min(from, to), end: Math.max(from, to) };
  for (const range of [old, file.pick].filter(Boolean)) {
    for (let line = range.start; line <= range.end; line += 1)
      file.rows.get(line)?.classList.toggle("picked", isPicked(file, line));
  }
  if (!quiet) file.onpick(file.pick && { path: file.path, start: file.pick.start, end: file.pick.end });
}

/** Let keys and clicks pick lines. */
export function listenForPicks(file) {
  file.pane.addEventListener("keydown", (event) => pressedKey(file, event));
  file.code.addEventListener("click", (event) => clickedNumber(file, event));
}

/** Move the cursor, pick its line, or pick none. */
function pressedKey(file, event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) moveCursor(file, step, event.shiftKey);
  else if (event.key === " ") pickLines(file, file.cursor, file.cursor);
  else if (event.key === "Escape") pickLines(file, null);
  else return;
  event.preventDefault();
}

/** Pick the line whose number was clicked, or all up to it: with Shift, and with the second touch. */
function clickedNumber(file, event) {
  const line = event.target.closest(".number")?.parentElement;
  if (!line) return;
  const number = Number(line.dataset.line);
  const single = file.pick && file.pick.start === file.pick.end && event.pointerType === "touch";
  pickLines(file, (event.shiftKey || single) && file.pick ? file.pick.from : number, number);
  file.cursor = number;
}

/** Move the line that keys are about. */
function moveCursor(file, step, extend) {
  const { pane } = file;
  file.rows.get(file.cursor)?.classList.remove("cursor");
  const before = file.cursor;
  file.cursor = Math.min(file.total, Math.max(1, file.cursor + step));
  file.rows.get(file.cursor)?.classList.add("cursor");
  const top = (file.cursor - 1) * LINE_HEIGHT;
  if (top < pane.scrollTop || top > pane.scrollTop + pane.clientHeight - 2 * LINE_HEIGHT)
    pane.scrollTop = top - pane.clientHeight / 2;
  if (extend) pickLines(file, file.pick?.from ?? before, file.cursor);
}

// Small bars: a distribution in the height of two lines, and a whole that is cut into parts.

import { svg } from "../../common/dom.js";
import { tipped, walkable } from "./tips.js";

const GAP_SHARE = 0.18; // of a bar's room that stays free beside it

/** Draw counts as bars side by side: `bars` is [{value, tip, class}], `most` the value of a bar of full height. */
export function barRow(bars, most, label) {
  const room = 100 / bars.length;
  const marks = bars.map((bar, place) => barMark(bar, place, room, most));
  const floor = svg("line.floor", { x1: 0, x2: "100%", y1: "100%", y2: "100%" });
  return walkable(svg("svg.bars", { role: "group", "aria-label": label }, floor, marks), marks);
}

/** Draw one bar; the whole height answers to the pointer, however low the bar is. */
function barMark(bar, place, room, most) {
  const height = most > 0 ? (96 * bar.value) / most : 0;
  const at = { x: `${place * room + (room * GAP_SHARE) / 2}%`, width: `${room * (1 - GAP_SHARE)}%` };
  return tipped(
    svg("g", { class: `bar ${bar.class ?? ""}` }, [
      svg("rect.bar-room", { ...at, y: 0, height: "100%" }),
      svg("rect.bar-fill", { ...at, y: `${100 - Math.max(height, bar.value > 0 ? 3 : 0)}%`, height: "100%" }),
    ]),
    bar.tip,
  );
}

/** Draw a whole cut into parts: `parts` is [{value, tip, class}]; parts of nothing are left out. */
export function splitBar(parts, label) {
  const whole = parts.reduce((sum, part) => sum + part.value, 0) || 1;
  let start = 0;
  const marks = parts
    .filter((part) => part.value > 0)
    .map((part) => {
      const width = (100 * part.value) / whole;
      const mark = tipped(
        svg("rect", { class: `part ${part.class}`, x: `${start}%`, width: `${width}%`, y: 0, height: "100%" }),
        part.tip,
      );
      start += width;
      return mark;
    });
  return walkable(svg("svg.split", { role: "group", "aria-label": label }, marks), marks);
}

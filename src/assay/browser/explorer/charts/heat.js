// Cells whose ground says at a glance what their number says exactly.

import { h } from "../../common/dom.js";

const DEEPEST = 42; // per cent of the accent colour: more would take the contrast from the number

/** Make the content of a cell, its ground as deep as its value lies between two ends; `small` stands below. */
export function heatCell(value, low, high, text, small = null) {
  const cell = h("span.heat", text, small && h("small", small));
  const share = high > low && Number.isFinite(value) ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 0;
  cell.style.setProperty("--heat", `${(share * DEEPEST).toFixed(1)}%`);
  return cell;
}

/** Give the least and the greatest of some numbers; what is no number does not count. */
export function spanOf(values) {
  const real = values.filter(Number.isFinite);
  return real.length ? [Math.min(...real), Math.max(...real)] : [0, 1];
}

// What charts are made of: axes, marks with tooltips, small bars, shaded cells. Positions are percentages, so that a
// chart fits its box without being redrawn.

import { h, svg, tame } from "../../common/dom.js";

// --- axes ----------------------------------------------------------------------------------------------------------

const STEPS = [1, 2, 2.5, 5, 10];
const MAX_TICKS = 5; // on a logarithmic axis: what fits a phone
const EDGE = 1.5; // per cent kept free at both ends, so that a mark at the end is whole

/** Create a linear axis over a range, extended to round numbers but not beyond `least` and `most`. */
export function linearAxis(low, high, { count = 5, least = -Infinity, most = Infinity } = {}) {
  const [from, to] = low < high ? [low, high] : [low - 0.05, high + 0.05];
  const power = 10 ** Math.floor(Math.log10((to - from) / count));
  const step = power * STEPS.find((factor) => factor * power >= ((to - from) / count) * 0.999);
  const start = Math.max(least, Math.floor(from / step + 1e-9) * step);
  const end = Math.min(most, Math.ceil(to / step - 1e-9) * step);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) + (Number(step.toPrecision(1)) === step ? 0 : 1);
  const first = Math.ceil(start / step - 1e-6);
  const length = Math.floor(end / step + 1e-6) - first + 1;
  const ticks = Array.from({ length }, (_, index) => Number(((first + index) * step).toPrecision(12)));
  return { low: start, high: end, ticks, digits, place: placer(start, end, (value) => value) };
}

/** Create a linear axis from zero or, if values differ by more than a factor of ten, a logarithmic one. */
export function costAxis(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return low > 0 && high / low > 10 ? logAxis(low, high) : linearAxis(0, high || 1);
}

/** Create a logarithmic axis with ticks at 1, 2 and 5; or at 1 and 5, or 1 only, if these are too many. */
function logAxis(low, high) {
  const all = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high * 10; power *= 10)
    all.push(power, 2 * power, 5 * power);
  const first = Math.max(0, all.filter((tick) => tick <= low).length - 1);
  const last = all.findIndex((tick) => tick >= high);
  const kept = all.slice(first, Math.max(last, first + 1) + 1);
  const leading = (digits) => kept.filter((tick) => digits.includes(tick.toExponential()[0]));
  const few = [kept, leading("15"), leading("1")].find((ticks) => ticks.length <= MAX_TICKS && ticks.length > 1);
  const [start, end] = [kept[0], kept.at(-1)];
  return { low: start, high: end, ticks: few ?? kept, digits: 0, place: placer(start, end, Math.log10) };
}

/** Return the function from a value to its position in per cent, clamped to the axis. */
function placer(low, high, scale) {
  const [from, to] = [scale(low), scale(high)];
  return (value) => EDGE + (100 - 2 * EDGE) * Math.min(1, Math.max(0, (scale(value) - from) / (to - from || 1)));
}

// --- marks with tooltips: the marks of a chart are one Tab stop, arrow keys move between them ----------------------

const TIP_GAP = 10; // pixels between a mark and its tooltip
const ARROW_STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** Give a mark a description: its accessible name, and a tooltip on hover and focus. */
export function withTip(mark, description) {
  const text = tame(description);
  mark.setAttribute("role", "img");
  mark.setAttribute("aria-label", text);
  mark.classList.add("mark");
  for (const event of ["pointerenter", "focus"]) mark.addEventListener(event, () => showTip(mark, text));
  for (const event of ["pointerleave", "blur"]) mark.addEventListener(event, hideTip);
  return mark;
}

/** Make the marks of a chart one Tab stop; arrow keys, Home and End move between them. */
export function navigable(chart, marks) {
  marks.forEach((mark, index) => mark.setAttribute("tabindex", index ? "-1" : "0"));
  chart.addEventListener("keydown", (event) => {
    const from = marks.indexOf(document.activeElement);
    if (event.key === "Escape") hideTip();
    if (from < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const to = { Home: 0, End: marks.length - 1 }[event.key] ?? from + (ARROW_STEPS[event.key] ?? 0);
    if (to === from || !marks[to]) return;
    event.preventDefault();
    event.stopPropagation();
    marks[from].setAttribute("tabindex", "-1");
    marks[to].setAttribute("tabindex", "0");
    marks[to].focus();
  });
  return chart;
}

function showTip(mark, text) {
  const box = tipBox();
  box.textContent = text;
  box.hidden = false;
  placeTip(box, mark);
}

function hideTip() {
  tipBox().hidden = true;
}

/** Place the tooltip above its mark or, if there is no room, below it. */
function placeTip(box, mark) {
  const [at, size] = [mark.getBoundingClientRect(), box.getBoundingClientRect()];
  const rightmost = document.documentElement.clientWidth - size.width - 4;
  const above = at.top - size.height - TIP_GAP;
  box.style.left = `${Math.min(Math.max(4, at.left + at.width / 2 - size.width / 2), rightmost)}px`;
  box.style.top = `${above > 4 ? above : at.bottom + TIP_GAP}px`;
}

/** Return the one tooltip of the page; screen readers get its text from the mark. */
function tipBox() {
  const existing = document.getElementById("chart-tip");
  if (existing) return existing;
  const box = h("div.chart-tip", { id: "chart-tip", "aria-hidden": "true", hidden: true });
  // Focusing a mark may scroll the page to it: its tooltip follows.
  const follow = () => {
    const focused = document.activeElement;
    if (!box.hidden && focused?.classList.contains("mark")) placeTip(box, focused);
    else box.hidden = true;
  };
  document.body.append(box);
  window.addEventListener("scroll", follow, { passive: true, capture: true });
  return box;
}

// --- small bars ----------------------------------------------------------------------------------------------------

const GAP_SHARE = 0.18; // of a bar's width that stays free

/** Draw counts as bars side by side: `bars` is [{value, tip, class}], `max` the value of a full bar. */
export function barRow(bars, max, label) {
  const width = 100 / bars.length;
  const marks = bars.map((bar, index) => {
    const height = max > 0 ? (96 * bar.value) / max : 0;
    const box = { x: `${width * (index + GAP_SHARE / 2)}%`, width: `${width * (1 - GAP_SHARE)}%`, height: "100%" };
    const parts = [
      svg("rect.bar-room", { ...box, y: 0 }), // a low bar reacts to the pointer at full height
      svg("rect.bar-fill", { ...box, y: `${100 - Math.max(height, bar.value > 0 ? 3 : 0)}%` }),
    ];
    return withTip(svg("g.bar", { class: bar.class }, parts), bar.tip);
  });
  const floor = svg("line.floor", { x1: 0, x2: "100%", y1: "100%", y2: "100%" });
  return navigable(svg("svg.bars", { role: "group", "aria-label": label }, floor, marks), marks);
}

// --- shaded cells --------------------------------------------------------------------------------------------------

const DARKEST = 42; // per cent of the accent color: a darker cell would lower the contrast of its number

/** Render the content of a cell, shaded by where its value lies between `low` and `high`; `small` is below it. */
export function heatCell(value, low, high, text, small = null) {
  const cell = h("span.heat", text, small && h("small", small));
  const share = high > low && Number.isFinite(value) ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 0;
  cell.style.setProperty("--heat", `${(share * DARKEST).toFixed(1)}%`);
  return cell;
}

export function rangeOf(values) {
  const finite = values.filter(Number.isFinite);
  return finite.length ? [Math.min(...finite), Math.max(...finite)] : [0, 1];
}

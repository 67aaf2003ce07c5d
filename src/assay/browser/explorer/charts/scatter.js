// Quality against cost: a dot an engine, its interval as a bar through it, its name beside it where there is room.
//
// scatter({label, points: [{name, x, y, low, high, tip, tone, hollow, weight}], xAxis, yAxis, xName, yName, xFormat})
//   `weight`: whose name is shown first where names would cover each other (the greatest)

import { h, svg } from "../../common/dom.js";
import { fixed } from "../../common/format.js";
import { tipped, walkable } from "./tips.js";

// Where a name may stand beside its dot, best first: offset, anchor.
const SIDES = [
  [9, 4, "start"],
  [-9, 4, "end"],
  [0, -9, "middle"],
  [0, 18, "middle"],
];

/** Draw a scatter; the comment on top of this module says of what. */
export function scatter(options) {
  const names = [];
  const marks = options.points.map((point) => scatterMark(options, point, names));
  const plot = svg("svg.plot", [scatterGrid(options), marks, names.map((one) => one.label)]);
  const chart = h("figure.chart.scatter", { "aria-label": options.label }, [
    h("div.scatter-y", options.yName),
    scatterLeft(options),
    plot,
    scatterBottom(options),
    h("div.scatter-x", options.xName),
  ]);
  new ResizeObserver(() => placeNames(plot, names)).observe(plot);
  return walkable(chart, marks);
}

/** Draw one point with its interval, and make its name. */
function scatterMark({ xAxis, yAxis }, point, names) {
  const [x, up] = [`${xAxis.place(point.x)}%`, (value) => `${100 - yAxis.place(value)}%`];
  const text = svg("text.point-name", point.name);
  // At its dot, however wide paper is.
  const label = svg("svg", { x, y: up(point.y), overflow: "visible", "aria-hidden": "true" }, text);
  names.push({ label, text, point, x: xAxis.place(point.x), y: 100 - yAxis.place(point.y) });
  return tipped(
    svg("g", { class: `point ${point.tone ?? "plain"}` }, [
      svg("line.reach", { x1: x, x2: x, y1: up(point.low), y2: up(point.high) }),
      svg("circle.halo", { cx: x, cy: up(point.y), r: 11 }),
      svg("circle", { class: point.hollow ? "dot hollow" : "dot", cx: x, cy: up(point.y), r: 5 }),
    ]),
    point.tip,
  );
}

/** Draw the grid. */
function scatterGrid({ xAxis, yAxis }) {
  return [
    xAxis.ticks.map((tick) =>
      svg("line.grid", { x1: `${xAxis.place(tick)}%`, x2: `${xAxis.place(tick)}%`, y1: 0, y2: "100%" }),
    ),
    yAxis.ticks.map((tick) =>
      svg("line.grid", { y1: `${100 - yAxis.place(tick)}%`, y2: `${100 - yAxis.place(tick)}%`, x1: 0, x2: "100%" }),
    ),
  ];
}

/** Write the numbers left of the plot. */
function scatterLeft({ yAxis }) {
  const ticks = yAxis.ticks.map((tick) =>
    svg("text", { x: "100%", dx: -6, y: `${100 - yAxis.place(tick)}%`, dy: 4, "text-anchor": "end" }, [
      fixed(tick, yAxis.digits),
    ]),
  );
  return svg("svg.axis-left", { "aria-hidden": "true" }, ticks);
}

/** Write the numbers below the plot. */
function scatterBottom({ xAxis, xFormat = (tick) => fixed(tick, xAxis.digits) }) {
  const ticks = xAxis.ticks.map((tick) =>
    svg("text", { x: `${xAxis.place(tick)}%`, y: 14, "text-anchor": "middle" }, xFormat(tick)),
  );
  return svg("svg.axis-bottom", { "aria-hidden": "true" }, ticks);
}

/** Put names beside their dots; one that finds no side free is not shown, its dot still says it when asked. */
function placeNames(plot, names) {
  const { width, height } = plot.getBoundingClientRect();
  if (!width) return;
  const taken = names.map((one) => boxAround((one.x / 100) * width, (one.y / 100) * height, 12, 12));
  for (const one of [...names].sort((a, b) => b.point.weight - a.point.weight)) {
    const size = one.text.getBBox();
    const side = SIDES.map((offset) => nameBox(one, offset, size, width, height)).find((box) =>
      isFree(box, taken, width, height),
    );
    one.text.classList.toggle("crowded", !side);
    if (side) taken.push(side);
  }
}

/** Set a name on one side of its dot and give the room that it takes. */
function nameBox(one, [dx, dy, anchor], size, width, height) {
  const [x, y] = [(one.x / 100) * width + dx, (one.y / 100) * height + dy];
  const left = { start: x, end: x - size.width, middle: x - size.width / 2 }[anchor];
  const box = { left, right: left + size.width, top: y - size.height * 0.8, bottom: y + size.height * 0.2 };
  return {
    ...box,
    set: () =>
      Object.entries({ x: dx, y: dy, "text-anchor": anchor }).forEach(([name, value]) =>
        one.text.setAttribute(name, value),
      ),
  };
}

/** Tell whether a box lies inside the plot and on nothing else; if so the name is set there. */
function isFree(box, taken, width, height) {
  const inside = box.left >= 0 && box.right <= width && box.top >= 0 && box.bottom <= height;
  const free =
    inside &&
    !taken.some(
      (other) => box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom,
    );
  if (free) box.set();
  return free;
}

/** Give the box around a point. */
function boxAround(x, y, width, height) {
  return { left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2 };
}

// Points with intervals and names on two axes: engines by quality and cost, or gated commits.
//
// scatter({label, points: [{name, x, y, low, high, tip, color, hollow, weight}], xAxis, yAxis, xName, yName, xFormat,
//          lines: [{kind, points: [{x, y}]}]})
//   `weight`: the name of the greatest weight has the first choice of its place
//   `kind`: the class of a line through points

import { h, svg } from "../../common/dom.js";
import { fixed } from "../../common/format.js";
import { navigable, withTip } from "./marks.js";

// Positions of a name beside its point, best first: offset, anchor.
const SIDES = [
  [9, 4, "start"],
  [-9, 4, "end"],
  [0, -9, "middle"],
  [0, 18, "middle"],
  ...[22, 38, 54, 70].flatMap((far) => [
    [12, far, "start"],
    [12, -far, "start"],
    [-12, far, "end"],
    [-12, -far, "end"],
  ]),
];
const POINT_ROOM = 6; // pixels around a point that names keep free

/** Draw a scatter plot from the options described above. */
export function scatter(options) {
  const { label, points, xAxis, yAxis, xName, yName, lines = [] } = options;
  const { xFormat = (tick) => fixed(tick, xAxis.digits) } = options;
  const x = (value) => `${xAxis.place(value)}%`;
  const y = (value) => `${100 - yAxis.place(value)}%`;
  const names = points.map((point) => {
    const text = svg("text.point-name", point.name);
    const leader = svg("line.leader", { x1: 0, y1: 0 });
    const props = { class: point.color, x: x(point.x), y: y(point.y), overflow: "visible", "aria-hidden": "true" };
    const node = svg("svg", props, leader, text);
    return { node, text, leader, point, x: xAxis.place(point.x), y: 100 - yAxis.place(point.y) };
  });
  const marks = points.map((point) => {
    const center = { cx: x(point.x), cy: y(point.y) };
    const shape = [
      svg("line.reach", { x1: x(point.x), x2: x(point.x), y1: y(point.low), y2: y(point.high) }),
      svg("circle.halo", { ...center, r: 11 }),
      svg("circle.dot", { class: point.hollow && "hollow", ...center, r: 5 }),
    ];
    return withTip(svg("g.point", { class: point.color }, shape), point.tip);
  });
  const segments = lines.flatMap(({ kind, points: [first, ...rest] }) =>
    rest.map((to, index) => {
      const from = rest[index - 1] ?? first;
      return svg("line", { class: kind, x1: x(from.x), y1: y(from.y), x2: x(to.x), y2: y(to.y) });
    }),
  );
  const plot = svg("svg.plot", [
    xAxis.ticks.map((tick) => svg("line.grid", { x1: x(tick), x2: x(tick), y1: 0, y2: "100%" })),
    yAxis.ticks.map((tick) => svg("line.grid", { y1: y(tick), y2: y(tick), x1: 0, x2: "100%" })),
    segments,
    marks,
    names.map(({ node }) => node),
  ]);
  const left = yAxis.ticks.map((tick) =>
    svg("text", { x: "100%", dx: -6, y: y(tick), dy: 4, "text-anchor": "end" }, fixed(tick, yAxis.digits)),
  );
  const bottom = xAxis.ticks.map((tick) => svg("text", { x: x(tick), y: 14, "text-anchor": "middle" }, xFormat(tick)));
  const chart = h("figure.chart.scatter", { "aria-label": label }, [
    h("div.scatter-y", yName),
    svg("svg.axis-left", { "aria-hidden": "true" }, left),
    plot,
    svg("svg.axis-bottom", { "aria-hidden": "true" }, bottom),
    h("div.scatter-x", xName),
  ]);
  new ResizeObserver(() => placeNames(plot, names)).observe(plot);
  return navigable(chart, marks);
}

/** Place names beside their points, or in the nearest free place with a line to the point. */
function placeNames(plot, names) {
  const { width, height } = plot.getBoundingClientRect();
  if (!width) return;
  const taken = names.map((name) => {
    const [x, y] = [(name.x / 100) * width, (name.y / 100) * height];
    return { left: x - POINT_ROOM, right: x + POINT_ROOM, top: y - POINT_ROOM, bottom: y + POINT_ROOM };
  });
  const isFree = (box) =>
    box.left >= 0 &&
    box.right <= width &&
    box.top >= 0 &&
    box.bottom <= height &&
    !taken.some((other) => overlap(box, other));
  for (const name of [...names].sort((a, b) => b.point.weight - a.point.weight)) {
    const size = name.text.getBBox();
    const side = SIDES.find((candidate) => isFree(nameBox(name, candidate, size, width, height))) ?? SIDES[0];
    taken.push(nameBox(name, side, size, width, height));
    const [x, y, anchor] = side;
    for (const [attribute, value] of Object.entries({ x, y, "text-anchor": anchor }))
      name.text.setAttribute(attribute, value);
    const isFar = Math.abs(y) > 20;
    for (const [attribute, value] of Object.entries({ x2: isFar ? x : 0, y2: isFar ? y - 4 : 0 }))
      name.leader.setAttribute(attribute, value);
  }
}

function overlap(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

/** Return the box of a name on one side of its point. */
function nameBox(name, [dx, dy, anchor], size, width, height) {
  const [x, y] = [(name.x / 100) * width + dx, (name.y / 100) * height + dy];
  const left = { start: x, end: x - size.width, middle: x - size.width / 2 }[anchor];
  return { left, right: left + size.width, top: y - size.height * 0.8, bottom: y + size.height * 0.2 };
}

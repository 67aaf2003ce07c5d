// Estimates with their intervals below each other, on one axis.
//
// forest({
//   label,                     accessible name of the chart
//   rows: [{name, value, low, high, text, tip, tone, hollow, href, group, note, color}],
//                              `text` is shown beside the interval and contains all that the drawing shows
//   axis, axisName,            of marks.js; optional: what the axis shows
//   line, lineName,            optional: a value to compare with, and its legend
//   band: [low, high], bandName,  optional: a shaded range, and its legend
//   side,                      optional: which side is better
//   format(tick),              optional: format of ticks
// }) -> <figure class="chart forest">

import { h, svg } from "../../common/dom.js";
import { fixed } from "../../common/format.js";
import { navigable, withTip } from "./marks.js";

const RADIUS = 5; // pixels from the center of a mark to its corners

/** Draw a forest plot from the options described above. */
export function forest(options) {
  const { rows, axis, format = (tick) => fixed(tick, axis.digits) } = options;
  const tracks = rows.map((row) => forestTrack(options, row));
  const items = rows.map((row, index) => [
    row.group !== undefined && row.group !== rows[index - 1]?.group && h("li.forest-group", row.group),
    forestRow(row, tracks[index]),
  ]);
  const origin = axis.ticks.length > 4 ? Math.max(axis.ticks.indexOf(0), 0) : NaN;
  const ticks = axis.ticks.map((tick, index) => {
    const kind = (index - origin) % 2 ? "alternate" : "";
    return svg("text", { class: kind, x: `${axis.place(tick)}%`, y: 14, "text-anchor": "middle" }, format(tick));
  });
  const axisRow = (content) =>
    h("li.forest-row.forest-axis", { "aria-hidden": "true" }, [h("span"), content, h("span")]);
  const name = h("span.forest-axis-name", options.axisName);
  const figure = h("figure.chart.forest", { "aria-label": options.label }, [
    h("ol.forest-rows", items, axisRow(svg("svg.track", ticks)), options.axisName && axisRow(name)),
    forestLegend(options),
  ]);
  return navigable(figure, tracks);
}

function forestRow(row, track) {
  const name = row.href ? h("a", { href: row.href }, row.name) : row.name;
  return h("li.forest-row", { class: `${row.tone ?? "plain"} ${row.color ?? ""}` }, [
    h("span.forest-name", name, row.note && h("span.forest-note", ` ${row.note}`)),
    track,
    h("span.forest-text", row.text),
  ]);
}

/** Draw one interval over the band, the grid and the line. */
function forestTrack({ axis, band, line }, row) {
  const at = (value) => `${axis.place(value)}%`;
  const vertical = (kind, value) => svg("line", { class: kind, x1: at(value), x2: at(value), y1: 0, y2: "100%" });
  const background = [
    band &&
      svg("rect.band", {
        x: at(band[0]),
        width: `${axis.place(band[1]) - axis.place(band[0])}%`,
        y: 0,
        height: "100%",
      }),
    axis.ticks.map((tick) => vertical("grid", tick)),
    line !== undefined && vertical("line", line),
  ];
  const estimate = Number.isFinite(row.value) && [
    svg("line.reach", { x1: at(row.low), x2: at(row.high), y1: "50%", y2: "50%" }),
    svg("svg", { x: at(row.value), y: "50%", overflow: "visible" }, forestMark(row)),
  ];
  return withTip(svg("svg.track", background, estimate), row.tip ?? `${row.name}: ${row.text}`);
}

/** Draw a dot, or a hollow diamond for a reference. */
function forestMark({ hollow }) {
  if (!hollow) return svg("circle.dot", { r: RADIUS - 0.5 });
  return svg("path.dot.hollow", { d: `M0 ${-RADIUS}L${RADIUS} 0L0 ${RADIUS}L${-RADIUS} 0Z` });
}

function forestLegend({ line, lineName, band, bandName, side }) {
  const parts = [
    line !== undefined && lineName && [h("span.key.key-line"), lineName],
    band && bandName && [h("span.key.key-band"), bandName],
    side,
  ].filter(Boolean);
  return (
    parts.length > 0 &&
    h(
      "figcaption.legend",
      parts.map((part) => h("span.legend-item", part)),
    )
  );
}

// Estimates with their intervals below each other, on one axis.
//
// forest({
//   label,                     what the chart shows, in words
//   rows: [{name, value, low, high, text, tip, tone, hollow, href, group}],
//                              `text` stands beside the interval and says everything that the drawing does
//   axis,                      of scale.js
//   line,                      optional: a value to compare with, and `lineName`, what it is
//   band: [low, high],         optional: a range that is shaded, and `bandName`
//   format(tick),              optional: how ticks are written
// }) -> <figure class="chart forest">

import { h, svg } from "../../common/dom.js";
import { fixed } from "../../common/format.js";
import { tipped, walkable } from "./tips.js";

const REACH = 5; // pixels from the middle of a mark to its corners

/** Draw a forest; the comment on top of this module says of what. */
export function forest(options) {
  const tracks = [];
  const items = options.rows.flatMap((row, place) => {
    const track = forestTrack(options, row);
    tracks.push(track);
    const opens = row.group !== undefined && row.group !== options.rows[place - 1]?.group;
    return [opens && h("li.forest-group", row.group), forestRow(row, track)];
  });
  const list = h("ol.forest-rows", items, forestAxis(options));
  return walkable(h("figure.chart.forest", { "aria-label": options.label }, list, forestLegend(options)), tracks);
}

/** Write one row: its name, its drawing, its numbers. */
function forestRow(row, track) {
  const name = row.href ? h("a", { href: row.href }, row.name) : row.name;
  return h("li", { class: `forest-row ${row.tone ?? "plain"}` }, [
    h("span.forest-name", name, row.note && h("span.forest-note", ` ${row.note}`)),
    track,
    h("span.forest-text", row.text),
  ]);
}

/** Draw one interval; what lies beyond the axis ends in an arrow-less line at its edge. */
function forestTrack(options, row) {
  const { place } = options.axis;
  const shape = Number.isFinite(row.value) && [
    svg("line.reach", { x1: `${place(row.low)}%`, x2: `${place(row.high)}%`, y1: "50%", y2: "50%" }),
    svg("svg", { x: `${place(row.value)}%`, y: "50%", overflow: "visible" }, forestMark(row)),
  ];
  return tipped(svg("svg.track", forestGround(options), shape), row.tip ?? `${row.name}: ${row.text}`);
}

/** Draw the mark of a value: a dot, or where it is of another kind (a reference) a hollow diamond. */
function forestMark(row) {
  if (!row.hollow) return svg("circle.dot", { r: REACH - 0.5 });
  return svg("path.dot.hollow", { d: `M0 ${-REACH}L${REACH} 0L0 ${REACH}L${-REACH} 0Z` });
}

/** Draw what lies behind every row: band, ticks, line. */
function forestGround({ axis, band, line }) {
  const { place } = axis;
  return [
    band &&
      svg("rect.band", { x: `${place(band[0])}%`, width: `${place(band[1]) - place(band[0])}%`, y: 0, height: "100%" }),
    axis.ticks.map((tick) => svg("line.grid", { x1: `${place(tick)}%`, x2: `${place(tick)}%`, y1: 0, y2: "100%" })),
    line !== undefined && svg("line.line", { x1: `${place(line)}%`, x2: `${place(line)}%`, y1: 0, y2: "100%" }),
  ];
}

/** Write the numbers of the axis under the rows. */
function forestAxis({ axis, format = (tick) => fixed(tick, axis.digits) }) {
  const ticks = axis.ticks.map((tick) =>
    svg("text", { x: `${axis.place(tick)}%`, y: 14, "text-anchor": "middle" }, format(tick)),
  );
  return h("li.forest-row.forest-axis", { "aria-hidden": "true" }, h("span"), svg("svg.track", ticks), h("span"));
}

/** Say what line and band are. */
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

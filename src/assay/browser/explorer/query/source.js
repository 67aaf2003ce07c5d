// The source around answers, adversaries and hits, with each of them marked in colour and in words.

import { h, fill } from "../../common/dom.js";
import { letterOf } from "./engines.js";
import { gradeName } from "./gold.js";
import { missingBlock } from "../missing.js";
import { placeNodes } from "../places.js";
import { covers, sourceFiles } from "./source_lines.js";
import { wholeFile } from "./whole_file.js";

const OPEN_FILES = 3; // that are unfolded at once; answers come first

/** Draw the source of a query. */
export function sourcePanel(view) {
  const title = h("h2", { id: "source-title" }, "Source");
  const section = (...content) => h("section", { "aria-labelledby": "source-title" }, title, ...content);
  if (!view.loaded.sources && !view.data.live) return section(missingBlock(view.data, "sources"));
  const files = sourceFiles(view);
  const shown = files.filter((file) => file.lines.length || view.data.live);
  if (!shown.length) return section(missingBlock(view.data, "sources", "No source of this query is in this file."));
  const without = files.length - shown.length;
  return section(
    sourceLegend(),
    shown.map((file, place) => fileBox(view, file, place)),
    without ? h("p.note", `${without} more ${without === 1 ? "file has" : "files have"} no excerpt here.`) : null,
  );
}

/** Name the line where the source of a hit is shown; null where it is not. */
export function sourceAnchor(view, hit) {
  const files = sourceFiles(view).filter((file) => file.lines.length);
  const place = files.findIndex((file) => file.path === hit.path);
  if (place < 0) return null;
  const line = hit.start ? files[place].lines.find((one) => covers(hit, one.number)) : files[place].lines[0];
  return line ? lineId(place, line.number) : null;
}

/** Name a line of a file. */
function lineId(place, number) {
  return `source-${place}-${number}`;
}

/** Explain the marks. */
function sourceLegend() {
  return h("p.note.legend", [
    h("span.swatch.answer", "answer"),
    " ",
    h("span.swatch.adversary", "seems right, is not"),
    " ",
    h("span.swatch.hit", "result"),
    " A1: first result of A",
  ]);
}

/** Draw one file. */
function fileBox(view, file, place) {
  const scroll = h("div.code", { tabindex: "0", role: "group", "aria-label": `Source of ${file.path}` }, [
    lineRows(file, place),
  ]);
  const box = h("details.source-file", { open: place < OPEN_FILES && file.lines.length > 0 }, [
    h("summary", h("span.place", placeNodes({ path: file.path })), " ", fileBadges(file)),
    scroll,
  ]);
  box.addEventListener("toggle", () => showPlace(scroll), { once: true });
  if (view.data.live)
    wholeFile(view, file, box, (lines) => {
      fill(scroll, lineRows({ ...file, lines }, place));
      showPlace(scroll);
    });
  return box;
}

/** Scroll inside the box of a file to its first answer, else to its first result. */
function showPlace(scroll) {
  const line = scroll.querySelector(".line.answer") ?? scroll.querySelector(".line.hit");
  if (!line) return;
  const above = 2 * line.offsetHeight; // what it stands in
  scroll.scrollTop += line.getBoundingClientRect().top - scroll.getBoundingClientRect().top - above;
}

/** Draw the lines of a file, with a sign where some are left out. */
function lineRows(file, place) {
  return file.lines.map((line, at) => [
    at && line.number !== file.lines[at - 1].number + 1 ? h("div.gap", { "aria-hidden": "true" }, "⋯") : null,
    lineRow(file, place, line),
  ]);
}

/** Say what a file is to the query. */
function fileBadges(file) {
  const kinds = new Set(file.roles.map((role) => role.kind));
  const hits = file.roles.filter((role) => role.kind === "hit").map(roleText);
  return [
    kinds.has("answer") ? h("span.badge.good", "✓ answer") : null,
    " ",
    kinds.has("adversary") ? h("span.badge.bad", "✗ adversary") : null,
    " ",
    hits.length ? h("span.badge.accent", hits.join(" ")) : null,
  ];
}

/** Draw one line with its marks; the words stand where a place begins. */
function lineRow(file, place, line) {
  const roles = file.roles.filter((role) => covers(role, line.number));
  const begin = roles.filter((role) => role.start === line.number || line === file.lines[0]);
  const kinds = [...new Set(roles.map((role) => role.kind))];
  return h("div", { class: ["line", ...kinds].join(" "), id: lineId(place, line.number), tabindex: "-1" }, [
    h("span.number", line.number),
    h("code", line.text || " "),
    h("span.marks", begin.map(roleBadge)),
  ]);
}

/** Name a role in a few letters. */
function roleText(role) {
  if (role.kind === "answer") return `✓ ${gradeName(role.grade)}`;
  if (role.kind === "adversary") return `✗ ${role.relationship}`;
  return `${letterOf(role.column)}${role.rank ?? "="}`;
}

/** Draw a role. */
function roleBadge(role) {
  const tone = { answer: "good", adversary: "bad", hit: "accent" }[role.kind];
  return h("span", { class: `badge ${tone}` }, roleText(role));
}

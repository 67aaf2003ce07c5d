// The source around targets, adversaries and hits, each marked by color and text.

import { askServer, problemText } from "../../common/client.js";
import { fill, h } from "../../common/dom.js";
import { distinctRanks } from "../pairs.js";
import { omissionNote, spanNodes } from "../parts.js";

const OPEN_FILES = 3; // unfolded at once; files of targets come first
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const ROLE_TONES = { answer: "good", adversary: "bad", hit: "accent" };

export function gradeName(grade) {
  return { 2: "primary", 1: "secondary" }[grade] ?? `grade ${grade}`;
}

/** Return the letter of a column of rankings: A, B, …, Z, AA, AB, … */
export function letterOf(column) {
  const before = Math.floor(column / LETTERS.length);
  return (before ? LETTERS[before - 1] : "") + LETTERS[column % LETTERS.length];
}

export function sourceSection(view) {
  const title = h("h2", { id: "source-title" }, "Source");
  const section = (...content) => h("section", { "aria-labelledby": "source-title" }, title, content);
  if (!view.loaded.sources && !view.data.live) return section(omissionNote(view.data, "sources"));
  const files = sourceFiles(view);
  const shown = files.filter((file) => file.lines.length || view.data.live);
  if (!shown.length) return section(omissionNote(view.data, "sources", "This report has no source for this query."));
  const rest = files.length - shown.length;
  return section(
    h("p.note.legend", [
      h("span.swatch.answer", "target"),
      " ",
      h("span.swatch.adversary", "adversary"),
      " ",
      h("span.swatch.hit", "result"),
      " A1: first result of A",
    ]),
    shown.map((file, index) => fileBox(view, file, index)),
    rest > 0 && h("p.note", `${rest} more ${rest === 1 ? "file has" : "files have"} no excerpt here.`),
  );
}

/** Return the id of the line that shows a hit; null if its source is not shown. */
export function sourceAnchor(view, hit) {
  const files = sourceFiles(view).filter((file) => file.lines.length);
  const index = files.findIndex((file) => file.path === hit.path);
  if (index < 0) return null;
  const line = hit.start ? files[index].lines.find(({ number }) => covers(hit, number)) : files[index].lines[0];
  return line ? lineId(index, line.number) : null;
}

function lineId(index, number) {
  return `source-${index}-${number}`;
}

/** Return the files of a query's spans: {path, roles: [{kind, path, start, end, …}], lines: [{number, text}]}. */
function sourceFiles(view) {
  const sources = view.loaded.sources?.[view.unit.query.goldIndex] ?? {};
  const roles = rolesOf(view);
  return [...new Set(roles.map((role) => role.path))].map((path) => {
    const own = roles.filter((role) => role.path === path);
    const excerpts = Object.hasOwn(sources, path) ? sources[path] : [];
    const known = excerpts.flatMap(([start, text]) => numberedLines(text, start));
    const isNear = ({ number }) => own.some((role) => isNearRole(number, role, known, view.data.summary.excerpts));
    return { path, roles: own, lines: known.filter(isNear) };
  });
}

/** Return the role of each span: targets first, then adversaries, then hits by rank. */
function rolesOf({ data, unit, engines, loaded }) {
  const { targets, adversaries } = unit.query;
  const hits = engines.flatMap((engine, column) => {
    const list = loaded.rankings?.ranking(engine, unit.index).hits ?? [];
    const ranks = distinctRanks(list, data.level);
    return list.map((hit, at) => ({ ...hit, kind: "hit", column, at, rank: ranks[at] }));
  });
  hits.sort((a, b) => a.at - b.at || a.column - b.column);
  return [
    ...targets.map((target) => ({ ...target, kind: "answer" })),
    ...adversaries.map((adversary) => ({ ...adversary, kind: "adversary" })),
    ...hits,
  ];
}

/** Return whether a line is close to a role; only the beginning of whole files and long hits is. */
function isNearRole(number, { kind, start, end }, known, { around, lines }) {
  if (!start) return number <= known[0].number + 2 * around;
  const last = kind === "hit" && end - start >= lines ? start + 2 * around - 1 : end + around;
  return number >= start - around && number <= last;
}

function covers(role, number) {
  return Boolean(role.start) && role.start <= number && number <= role.end;
}

function numberedLines(text, start) {
  return text.split("\n").map((line, index) => ({ number: start + index, text: line }));
}

function fileBox(view, file, index) {
  const props = { tabindex: "0", role: "group", "aria-label": `Source of ${file.path}` };
  const code = h("div.code", props, lineRows(file, index));
  const box = h("details.source-file", { open: index < OPEN_FILES && file.lines.length > 0 }, [
    h("summary", h("span.place", spanNodes({ path: file.path })), " ", fileBadges(file)),
    code,
  ]);
  box.addEventListener("toggle", () => scrollToMark(code), { once: true });
  if (view.data.live)
    offerWholeFile(view, file, box, (lines) => {
      fill(code, lineRows({ ...file, lines }, index));
      scrollToMark(code);
    });
  return box;
}

/** Scroll inside a file to its first target, else to its first hit. */
function scrollToMark(code) {
  const line = code.querySelector(".line.answer") ?? code.querySelector(".line.hit");
  if (!line) return;
  const context = 2 * line.offsetHeight;
  code.scrollTop += line.getBoundingClientRect().top - code.getBoundingClientRect().top - context;
}

function fileBadges({ roles }) {
  const kinds = new Set(roles.map((role) => role.kind));
  const hits = roles.filter((role) => role.kind === "hit").map(roleText);
  return [
    kinds.has("answer") && h("span.badge.good", "✓ target"),
    " ",
    kinds.has("adversary") && h("span.badge.bad", "✗ adversary"),
    " ",
    hits.length > 0 && h("span.badge.accent", hits.join(" ")),
  ];
}

/** Draw the lines of a file, with a sign where some are left out. */
function lineRows(file, index) {
  return file.lines.map((line, at) => [
    at > 0 && line.number !== file.lines[at - 1].number + 1 && h("div.gap", { "aria-hidden": "true" }, "⋯"),
    lineRow(file, index, line),
  ]);
}

/** Draw a line; its badges are on the first line of a span. */
function lineRow(file, index, line) {
  const roles = file.roles.filter((role) => covers(role, line.number));
  const starting = roles.filter((role) => role.start === line.number || line === file.lines[0]);
  const kinds = [...new Set(roles.map((role) => role.kind))];
  return h("div.line", { class: kinds.join(" "), id: lineId(index, line.number), tabindex: "-1" }, [
    h("span.number", line.number),
    h("code", line.text || " "),
    h(
      "span.marks",
      starting.map((role) => h("span.badge", { class: ROLE_TONES[role.kind] }, roleText(role))),
    ),
  ]);
}

function roleText(role) {
  if (role.kind === "answer") return `✓ ${gradeName(role.grade)}`;
  if (role.kind === "adversary") return `✗ ${role.relationship}`;
  return `${letterOf(role.column)}${role.rank ?? "="}`;
}

/** Offer the whole file on a served page; a file without an excerpt is loaded when it is unfolded. */
function offerWholeFile(view, file, box, show) {
  let loading = false;
  const problem = h("p.note", { role: "status" });
  const load = async () => {
    if (loading) return;
    loading = true;
    try {
      const params = new URLSearchParams({ gold: view.unit.gold, path: file.path });
      const { text } = await askServer(`${view.data.live.source}?${params}`);
      show(numberedLines(text.replace(/\n$/, ""), 1).slice(0, text ? undefined : 0));
      button.remove();
      problem.remove();
    } catch (error) {
      loading = false;
      problem.textContent = problemText(error);
    }
  };
  const button = h("button.quiet-button.whole-file", { onclick: load }, "Show the whole file");
  if (!file.lines.length) box.addEventListener("toggle", () => box.open && load());
  box.append(button, problem);
}

// Parts that several sections share: engine names, measures, texts of estimates, columns, choices.

import { fill, h, option, pairList, prose } from "../../common/dom.js";
import { fixed, signed } from "../../common/format.js";
import { noteRoute, parseRoute, routeHref } from "../../common/route.js";
import { headColumn, table } from "../../common/table.js";
import { isReference } from "../data.js";
import { queryHref } from "../parts.js";

const COLORS = 8; // of engines, in base.css; with more engines they repeat
const TONE_SIGNS = { good: "▲", bad: "▼", warning: "?", plain: "=" };

// --- engines, measures and comparisons -----------------------------------------------------------------------------

export function engineOf(data, name) {
  return data.engines[data.engineIndex(name)];
}

export function shownName(data, name) {
  return engineOf(data, name)?.answered_nothing ? `${name} (failed)` : name;
}

/** Return the role of an engine: baseline, floor, ceiling, or "" for an engine under test. */
export function roleOf(data, name) {
  if (name === data.results.comparison.baseline) return "baseline";
  const role = engineOf(data, name)?.role;
  return role === "candidate" ? "" : (role ?? "");
}

/** Return a measure by name: {name, low, high, higher}. */
export function measureOf(data, name) {
  return data.measures.find((measure) => measure.name === name) ?? { name, low: null, high: null, higher: true };
}

/** Return a measure in words: nDCG(level=lines)@10 becomes nDCG@10 by lines. */
export function measureText(name) {
  return name.replace(/^(.*)\(level=(\w+)\)(.*)$/, "$1$3 by $2");
}

/** Return the names of engines by a measure's mean, best first; engines without a mean are last. */
export function rankedNames(data, measure = data.primary) {
  const means = new Map(meansOf(data, measure).map(({ engine, mean }) => [engine, mean]));
  const direction = measureOf(data, measure).higher ? -1 : 1;
  const key = (name) => (means.has(name) ? direction * means.get(name) : Infinity);
  const compare = (a, b) => (key(a) === key(b) ? (a < b ? -1 : 1) : key(a) < key(b) ? -1 : 1);
  return data.engines.map(({ name }) => name).sort(compare);
}

/** Return the class that sets the color of an engine: by its place in the table of scores, gray for references. */
export function engineColor(data, name) {
  const place = rankedNames(data)
    .filter((other) => !isReference(engineOf(data, other)))
    .indexOf(name);
  return place < 0 ? "engine-0" : `engine-${1 + (place % COLORS)}`;
}

export function meansOf(data, measure) {
  return data.results.comparison.means.filter((row) => row.measure === measure);
}

/** Return the comparisons on a measure, best first; only those on the primary measure have a verdict. */
export function comparisonsOn(data, measure) {
  const { rows, secondary } = data.results.comparison;
  const direction = measureOf(data, measure).higher ? 1 : -1;
  return [...rows, ...secondary]
    .filter((row) => row.measure === measure)
    .map((row) => ({ ...row, name: row.engine }))
    .sort((a, b) => direction * (b.difference - a.difference) || (a.engine < b.engine ? -1 : 1));
}

/** Leave out references, which would stretch the axis of a chart; keep them if nothing else is left. */
export function withoutReferences(data, rows) {
  const rest = rows.filter((row) => !isReference(engineOf(data, row.engine)));
  return rest.length ? rest : rows;
}

// --- texts ---------------------------------------------------------------------------------------------------------

export function meanText(mean, { low, high }) {
  return `${fixed(mean)} ${intervalText({ low, high })}`;
}

function intervalText({ low, high }) {
  return `[${fixed(low, 2)}, ${fixed(high, 2)}]`;
}

export function differenceText(row) {
  return `${signed(row.difference)} ${signedInterval(row.interval)}`;
}

export function signedInterval({ low, high }) {
  return `[${signed(low)}, ${signed(high)}]`;
}

export function pText(value) {
  if (value === null || value === undefined) return "–";
  return value >= 0.0001 ? fixed(value, 4) : "<0.0001";
}

export function decidingP(row) {
  return row.p_adjusted ?? row.p;
}

export function betterSide(data, measure) {
  return measureOf(data, measure).higher ? "right is better" : "left is better";
}

export function fewText(data, queries) {
  const { few } = data.summary;
  return queries < few ? `Fewer than ${few} queries: unreliable.` : "";
}

export function sentences(...parts) {
  return parts.filter(Boolean).join(" ");
}

// --- nodes ---------------------------------------------------------------------------------------------------------

export function note(text) {
  return text ? h("p.note", prose(text)) : null;
}

export function subtitle(text) {
  return h("h3", text);
}

/** Render a verdict with a color and a sign. */
export function verdictText({ tone, verdict, verdict_text: text }) {
  const sign = verdict === "not inferior" ? "≥" : TONE_SIGNS[tone];
  return h("span.toned", { class: tone }, h("span.sign", { "aria-hidden": "true" }, sign), " ", text);
}

/** Render pairs of names and values; pairs without a value are left out. */
export function facts(pairs) {
  const known = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return pairList("dl.facts", known);
}

export function folded(title, ...content) {
  return h("details.folded", h("summary", title), content);
}

/** Stack parts below each other; null if there are none. */
export function stack(...parts) {
  const known = parts.flat().filter(Boolean);
  return known.length ? h("div.stack", known) : null;
}

/** Render the id and text of a query, linked to its page. */
export function queryCell(data, unit, params = {}) {
  return h("span.query-cell", [
    h("a", { href: queryHref(unit, params) }, unit.query.id),
    data.golds.length > 1 && h("span.of-gold", unit.gold),
    h("span.query-text", unit.text),
  ]);
}

// --- columns -------------------------------------------------------------------------------------------------------

/** Create a table with one row per engine, {name, …}; a button shows the references. */
export function engineTable(data, { rows, columns, ...options }) {
  const references = rows.filter(({ name }) => isReference(engineOf(data, name)));
  const tested = rows.filter((row) => !references.includes(row));
  const all = [engineColumn(data), ...columns];
  if (!tested.length) return table({ ...options, rows, columns: all });
  const referencesLabel = `References: ${references.map(({ name }) => name).join(", ")}`;
  return table({ ...options, rows: tested, columns: all, references, referencesLabel });
}

/** Create the column of engine names, with their colors and roles. */
export function engineColumn(data) {
  return headColumn("engine", "Engine", (row) => row.name, {
    text: (row) => shownName(data, row.name),
    cell: ({ name }) => {
      const role = roleOf(data, name);
      return [
        h("span.swatch-dot", { class: engineColor(data, name), "aria-hidden": "true" }),
        h("span.engine-name", name),
        role && [" ", h("span.role", role)],
        engineOf(data, name)?.answered_nothing && [" ", h("span.role.bad", "failed")],
      ];
    },
  });
}

/** Create a column of means with intervals: `find(row)` returns {mean, low, high} or nothing. */
export function intervalColumn(id, title, find, cell = strongMean) {
  return {
    id,
    title,
    align: "right",
    value: (row) => find(row)?.mean ?? null,
    text: (row) => (find(row) ? meanText(find(row).mean, find(row)) : "–"),
    cell: (row) => (find(row) ? cell(find(row), intervalText(find(row))) : "–"),
  };
}

function strongMean({ mean }, interval) {
  return [h("strong", fixed(mean)), " ", h("small.ends", interval)];
}

// --- choices: a link to a section holds all that is chosen in it ---------------------------------------------------

const restoreBySection = new Map(); // section -> functions that set its lists from an address
let choiceCount = 0; // for unique ids

/** Show lists of choices above the content that they control; `draw(state)` is called after each change. */
export function chooser(section, state, choices, draw) {
  const initial = { ...state };
  const content = h("div.chosen");
  const offered = choices.filter(({ options }) => options.length > 1);
  const lists = offered.map(({ key, options }) => {
    const change = () => {
      state[key] = list.value;
      noteChoices(section, state, initial);
      fill(content, draw(state));
    };
    choiceCount += 1;
    const list = h("select", { id: `choice-${choiceCount}`, onchange: change }, [
      options.map(([value, text]) => option(value, text, value === state[key])),
    ]);
    return list;
  });
  const restore = (params) => {
    offered.forEach(({ key, options }, index) => {
      const isKnown = options.some(([value]) => value === params[key]);
      state[key] = isKnown ? params[key] : initial[key];
      lists[index].value = state[key];
    });
    fill(content, draw(state));
  };
  restoreBySection.set(section, [...(restoreBySection.get(section) ?? []), restore]);
  const { parts, params } = parseRoute(location.hash);
  restore(parts[0] === "report" && parts[1] === section ? params : {});
  const labeled = lists.map((list, index) => h("span.pick", h("label", { for: list.id }, offered[index].label), list));
  return [lists.length > 0 && h("div.picks", labeled), content];
}

/** Set the choices of a section from the parameters of an address. */
export function restoreChoices(section, params) {
  for (const restore of restoreBySection.get(section) ?? []) restore(params);
}

/** Write the choices that differ from the initial ones into the address. */
function noteChoices(section, state, initial) {
  const changed = Object.entries(state).filter(([key, value]) => value !== initial[key]);
  const { theme } = parseRoute(location.hash).params;
  noteRoute(routeHref(["report", section], { ...Object.fromEntries(changed), theme }));
}

// Pieces that several sections are made of: notes, choices, names, facts, what is folded away.

import { h, fill, prose } from "../../common/dom.js";
import { isDead, roleOf, toneSign } from "./words.js";

let choiceNumber = 0; // labels need names that no other choice has

/** Write a quiet sentence under a table or a chart. */
export function note(text) {
  return text ? h("p", { class: "note" }, prose(text)) : null;
}

/** Write the heading of a part of a section. */
export function subtitle(text) {
  return h("h3", null, text);
}

/** Make a list to choose from: `options` is [value, label] pairs; `changed` is told the value. */
export function choice(label, options, chosen, changed) {
  choiceNumber += 1;
  const id = `choice-${choiceNumber}`;
  const list = h("select", { id, onchange: () => changed(list.value) },
    options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)));
  return h("span", { class: "pick" }, h("label", { for: id }, label), list);
}

/** Put choices above what they decide; `draw(state)` is called with each new state, and at first. */
export function chooser(state, choices, draw) {
  const place = h("div", { class: "chosen" });
  const show = () => fill(place, draw(state));
  const lists = choices.filter((one) => one.options.length > 1).map((one) =>
    choice(one.label, one.options, state[one.key], (value) => { state[one.key] = value; show(); }));
  show();
  return [lists.length > 0 && h("div", { class: "picks" }, lists), place];
}

/** Name an engine in a cell, with what it is in this run. */
export function engineCell(data, name) {
  const facts = data.engines[data.engineIndex(name)];
  const role = roleOf(data, name);
  return [h("span", { class: "engine-name" }, name), role && [" ", h("span", { class: "role" }, role)],
    facts && isDead(facts) && [" ", h("span", { class: "role bad" }, "failed")]];
}

/** Write words in a tone, with a sign for those who do not see colours. */
export function toned(tone, text) {
  return h("span", { class: `toned ${tone}` }, h("span", { class: "sign", "aria-hidden": "true" }, toneSign(tone)), " ", text);
}

/** Show facts as large figures with what they are below: [{value, label, small, tone}]. */
export function figures(list) {
  return h("dl", { class: "figures" }, list.filter(Boolean).map((one) => h("div", { class: `figure ${one.tone ?? ""}` },
    h("dt", null, one.label), h("dd", null, h("span", { class: "figure-value" }, one.value), one.small && h("span", { class: "figure-small" }, one.small)))));
}

/** Show facts as a list of names and values; what has no value is left out. */
export function facts(list) {
  const kept = list.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false);
  return h("dl", { class: "facts" }, kept.map(([name, value]) => [h("dt", null, name), h("dd", null, value)]));
}

/** Fold something away behind its title. */
export function folded(title, ...content) {
  return h("details", { class: "folded" }, h("summary", null, title), content);
}

/** Put parts below each other; null where there is none. */
export function stack(...parts) {
  const kept = parts.flat().filter(Boolean);
  return kept.length ? h("div", { class: "stack" }, kept) : null;
}

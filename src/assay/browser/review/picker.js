// A dialog to choose a file or a definition: type a part of its name, arrow keys, Enter.

import { fill, h } from "../common/dom.js";
import { get } from "./session.js";

const MAX_DEFINITIONS = 200; // listed at once: typing finds the others faster than scrolling

export function pickFile(choose) {
  const find = async (text) => {
    const { paths, total } = await get("paths", { find: text });
    const rest = total > paths.length ? `and ${total - paths.length} more: keep typing` : `${total} files`;
    return { rows: paths.map((path) => ({ label: path, value: path })), rest };
  };
  openPicker("Open a file of the corpus", find, choose);
}

/** Choose a definition of a file: {name, start, end}. */
export function pickDefinition(path, choose) {
  const request = get("definitions", { path });
  const find = async (text) => {
    const { definitions } = await request;
    const matching = definitions.filter(([name]) => name.toLowerCase().includes(text.trim().toLowerCase()));
    const rows = matching.slice(0, MAX_DEFINITIONS).map(([name, kind, start, end]) => {
      const note = start === end ? `${kind}, line ${start}` : `${kind}, lines ${start}–${end}`;
      return { label: name, note, value: { name, start, end } };
    });
    const count = `${matching.length} of ${definitions.length} definitions`;
    return { rows, rest: definitions.length ? count : "No definitions found in this file; select lines" };
  };
  openPicker(`Definitions of ${path}`, find, choose);
}

/** Open the dialog; `find(text)` returns {rows: [{label, note, value}], rest}. */
function openPicker(title, find, choose) {
  const props = { type: "search", placeholder: "A part of the name", spellcheck: "false", autocomplete: "off" };
  const field = h("input", { ...props, "aria-label": title });
  const list = h("ul.choices");
  const rest = h("p.note", { role: "status" });
  const dialog = h("dialog.dialog.chooser", { "aria-label": title }, [
    h("h2", title),
    field,
    list,
    rest,
    h("button", { onclick: () => dialog.close() }, "Cancel"),
  ]);
  const take = (value) => {
    dialog.close();
    choose(value);
  };
  let request = 0;
  const search = async () => {
    const current = (request += 1);
    const found = await find(field.value).catch((error) => ({ rows: [], rest: error.message }));
    if (current !== request) return; // a newer search is running
    const entries = found.rows.map(({ label, note, value }) =>
      h("li", h("button.choice", { onclick: () => take(value) }, h("span.mono", label), note && h("span.note", note))),
    );
    fill(list, entries);
    fill(rest, found.rest);
  };
  const chooseFirst = () => list.querySelector("button")?.click();
  dialog.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const stops = [field, ...list.querySelectorAll("button")];
    if (step) stops[(stops.indexOf(document.activeElement) + step + stops.length) % stops.length].focus();
    else if (event.key === "Enter" && event.target === field) searching.then(chooseFirst);
    else return;
    event.preventDefault();
  });
  field.addEventListener("input", () => (searching = search()));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  let searching = search(); // Enter waits for it: the list may still show the matches of an older text
}

// A dialog to choose one of many: type a part of its name, arrow keys, Enter.

import { fill, h } from "../common/dom.js";

/** Open the dialog; `find(text)` gives {rows: [{label, note, value}], more}, `choose(value)` is told what is chosen. */
export function openChooser({ title, find, choose }) {
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
  const chooser = { field, list, rest, find, take, turn: 0 };
  dialog.addEventListener("keydown", (event) => stepInChooser(chooser, event));
  field.addEventListener("input", () => listFitting(chooser));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  listFitting(chooser);
}

/** List what fits what is typed; an answer that comes after another question is dropped. */
async function listFitting(chooser) {
  const turn = (chooser.turn += 1);
  const { rows, more } = await chooser.find(chooser.field.value).catch((error) => ({ rows: [], more: error.message }));
  if (turn !== chooser.turn) return;
  const items = rows.map((row) => h("li", choiceButton(row, chooser.take)));
  fill(chooser.list, items);
  fill(chooser.rest, more);
}

/** Make the button of one of them. */
function choiceButton({ label, note, value }, take) {
  return h("button.choice", { onclick: () => take(value) }, h("span.mono", label), note ? h("span.note", note) : null);
}

/** Go up and down with arrows, take the first with Enter. */
function stepInChooser({ field, list }, event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const stops = [field, ...list.querySelectorAll("button")];
  if (step) stops[(stops.indexOf(document.activeElement) + step + stops.length) % stops.length].focus();
  else if (event.key === "Enter" && event.target === field) list.querySelector("button")?.click();
  else return;
  event.preventDefault();
}

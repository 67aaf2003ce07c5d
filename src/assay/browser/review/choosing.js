// A dialog to choose one of many: type a part of its name, arrow keys, Enter.

import { fill, h } from "../common/dom.js";

/** Open the dialog; `find(text)` gives {rows: [{label, note, value}], more}, `choose(value)` is told of the one chosen. */
export function openChooser({ title, find, choose }) {
  const field = h("input", { type: "search", "aria-label": title, placeholder: "A part of the name", spellcheck: "false", autocomplete: "off" });
  const list = h("ul", { class: "choices" });
  const rest = h("p", { class: "note", role: "status" });
  const dialog = h("dialog", { class: "dialog chooser", "aria-label": title }, h("h2", null, title), field, list, rest,
    h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"));
  let turn = 0;

  /** List what fits what is typed. */
  async function update() {
    const mine = (turn += 1);
    const { rows, more } = await find(field.value).catch((error) => ({ rows: [], more: error.message }));
    if (mine !== turn) return;
    fill(list, rows.map((row) => h("li", null, h("button", { type: "button", class: "choice", onclick: () => take(row.value) }, h("span", { class: "mono" }, row.label), row.note ? h("span", { class: "note" }, row.note) : null))));
    fill(rest, more);
  }

  /** Choose, and close. */
  function take(value) {
    dialog.close();
    choose(value);
  }

  dialog.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const stops = [field, ...list.querySelectorAll("button")];
    if (step) stops[(stops.indexOf(document.activeElement) + step + stops.length) % stops.length].focus();
    else if (event.key === "Enter" && event.target === field) list.querySelector("button")?.click();
    else return;
    event.preventDefault();
  });
  field.addEventListener("input", update);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  update();
}

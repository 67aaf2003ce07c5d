// How a vote is given: a value by one key, a reason, Enter. What is written is kept in the tab until it is saved.

import { fill, h } from "../common/dom.js";

/** What values mean, and the key that chooses each. */
export const VALUE_WORDS = {
  2: { key: "2", word: "the answer" },
  1: { key: "1", word: "helps" },
  0: { key: "0", word: "wrong" },
  accept: { key: "a", word: "accept" },
  reject: { key: "r", word: "reject" },
  unsure: { key: "u", word: "unsure" },
};

/**
 * Make the form of a vote or a decision: {element, choose(value), values, focus()}.
 *
 * `draft` is what was written before, `changed(draft)` is told of every stroke, `save(draft)` of a whole vote.
 */
export function ballotForm({ title, values, draft, button, changed, save }) {
  const now = { value: draft?.value ?? null, reason: draft?.reason ?? "" };
  const said = h("p", { class: "bad note", role: "alert", hidden: true });
  const buttons = values.map((value) => valueButton(value, () => choose(value)));
  const reason = h("textarea", { id: "reason", rows: "2", placeholder: "Why? A few words", "aria-describedby": "reason-help" });
  reason.value = now.reason;
  reason.addEventListener("input", () => {
    now.reason = reason.value;
    changed({ ...now });
  });
  reason.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return reason.blur();
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return undefined;
    event.preventDefault();
    return submit();
  });

  /** Take a value and go on to the reason. */
  function choose(value) {
    now.value = value;
    press();
    changed({ ...now });
    reason.focus();
  }

  /** Show which value is chosen. */
  function press() {
    buttons.forEach((one, place) => one.setAttribute("aria-pressed", String(values[place] === now.value)));
  }

  /** Save, or say what is missing. */
  function submit() {
    const problem = !now.value ? `Choose ${values.map((value) => VALUE_WORDS[value].key).join(", ")} first` : !now.reason.trim() ? "Say in a few words why" : "";
    said.hidden = !problem;
    fill(said, problem);
    if (problem) return now.value ? reason.focus() : buttons[0].focus();
    for (const control of [reason, ...element.querySelectorAll("button")]) control.disabled = true; // keys that follow are for what comes next
    return save({ value: now.value, reason: now.reason.trim() });
  }

  press();
  const element = h("form", { class: "ballot", "aria-label": title, onsubmit: (event) => { event.preventDefault(); submit(); } },
    h("div", { class: "values", role: "group", "aria-label": "Your answer" }, buttons),
    h("label", { for: "reason", class: "sr-only" }, "Reason"),
    reason,
    h("div", { class: "row" }, h("button", { type: "submit", class: "primary" }, button, " ", h("kbd", null, "Enter")), h("span", { class: "note", id: "reason-help" }, "Shift+Enter: new line, Esc: leave")),
    said);
  return { element, choose, submit, values };
}

/** Make the button of one value. */
function valueButton(value, choose) {
  const { key, word } = VALUE_WORDS[value];
  return h("button", { type: "button", class: `value value-${value}`, "aria-pressed": "false", dataset: { value }, onclick: choose }, h("kbd", null, key), " ", word);
}

/** List the keys that choose values in a form. */
export function valueKeys(form) {
  return form.values.map((value) => ({ keys: [VALUE_WORDS[value].key], label: `Choose: ${VALUE_WORDS[value].word}`, run: () => form.choose(value) }));
}

// How a vote is given: a value by one key, a reason, Enter. What is written is kept in the browser until it is saved.

import { fill, h } from "../common/dom.js";

/**
 * Make the form of a vote or a decision: {element, choose(value), values}.
 *
 * `meanings` says what each value means, `draft` is what was written before, `changed(draft)` is told of
 * every stroke, `save(draft)` of a whole vote.
 */
export function ballotForm({ title, values, meanings, draft, button, changed, save }) {
  const form = { values, meanings, changed, save, value: draft?.value ?? null };
  form.said = h("p.bad.note", { role: "alert", hidden: true });
  form.buttons = values.map((value) => valueButton(value, meanings[value], () => chooseValue(form, value)));
  form.reason = reasonField(form, draft?.reason ?? "");
  const submit = (event) => {
    event.preventDefault();
    submitBallot(form);
  };
  form.element = h("form.ballot", { "aria-label": title, onsubmit: submit }, [
    h("div.values", { role: "group", "aria-label": "Your answer" }, form.buttons),
    h("label.visually-hidden", { for: "reason" }, "Reason"),
    form.reason,
    h("div.row", [
      h("button.primary", { type: "submit" }, button, " ", h("kbd", "Enter")),
      h("span.note", { id: "reason-help" }, "Shift+Enter: new line, Esc: leave"),
    ]),
    form.said,
  ]);
  pressChosen(form);
  return { element: form.element, choose: (value) => chooseValue(form, value), values, meanings };
}

/** Make the field of the reason: Enter saves, Escape leaves it. */
function reasonField(form, text) {
  const placeholder = "Why? A few words";
  const field = h("textarea", { id: "reason", rows: "2", placeholder, "aria-describedby": "reason-help" });
  field.value = text;
  field.addEventListener("input", () => form.changed(draftOf(form)));
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return field.blur();
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return undefined;
    event.preventDefault();
    return submitBallot(form);
  });
  return field;
}

/** Give what is chosen and written so far. */
function draftOf(form) {
  return { value: form.value, reason: form.reason.value };
}

/** Take a value and go on to the reason. */
function chooseValue(form, value) {
  form.value = value;
  pressChosen(form);
  form.changed(draftOf(form));
  form.reason.focus();
}

/** Show which value is chosen. */
function pressChosen({ buttons, values, value }) {
  buttons.forEach((one, place) => one.setAttribute("aria-pressed", String(values[place] === value)));
}

/** Save, or say what is missing. */
function submitBallot(form) {
  const reason = form.reason.value.trim();
  const problem = missingIn(form, reason);
  form.said.hidden = !problem;
  fill(form.said, problem);
  if (problem) return form.value ? form.reason.focus() : form.buttons[0].focus();
  // Keys that follow are for what comes next.
  for (const control of [form.reason, ...form.element.querySelectorAll("button")]) control.disabled = true;
  return form.save({ value: form.value, reason });
}

/** Say what is missing; nothing where all is there. */
function missingIn({ value, values, meanings }, reason) {
  if (!value) return `Choose ${values.map((one) => meanings[one].key).join(", ")} first`;
  return reason ? "" : "Say in a few words why";
}

/** Make the button of one value. */
function valueButton(value, { key, word }, choose) {
  return h("button", { class: `value value-${value}`, "aria-pressed": "false", dataset: { value }, onclick: choose }, [
    h("kbd", key),
    " ",
    word,
  ]);
}

/** List the keys that choose values in a form. */
export function valueKeys(form) {
  return form.values.map((value) => ({
    keys: [form.meanings[value].key],
    label: `Choose: ${form.meanings[value].word}`,
    run: () => form.choose(value),
  }));
}

// Another place for the query: picked lines or a definition become a proposal, with the vote of who found them.

import { fill, h } from "../common/dom.js";
import { spanText } from "../common/format.js";

/** Make a strip below the code: {element, offer(anchor), focus()}; `propose({anchor, value, reason})` hears of it. */
export function proposalStrip(about, propose, cancel) {
  const strip = h("section.proposal", { "aria-label": "Propose another place", hidden: true });
  const offer = (anchor) => {
    strip.hidden = !anchor;
    fill(strip, anchor ? proposalForm(anchor, about, propose, cancel) : null);
  };
  return { element: strip, offer, focus: () => strip.querySelector("input")?.focus() };
}

/** Make the form that proposes a place. */
function proposalForm(anchor, about, propose, cancel) {
  const kind = proposalKind(about);
  const reason = h("input", { type: "text", id: "proposal-reason", placeholder: "Why? A few words", required: true });
  const submit = (event) => {
    event.preventDefault();
    if (reason.value.trim()) propose({ anchor, value: kind.value(), reason: reason.value.trim() });
  };
  return h("form", { onsubmit: submit }, [
    h("span", "Propose ", h("strong.mono", anchor), " as"),
    kind.element,
    h("label.visually-hidden", { for: "proposal-reason" }, "Why"),
    reason,
    h("button.primary", { type: "submit" }, "Propose"),
    h("button.quiet-button", { onclick: cancel }, "Cancel"),
  ]);
}

/** Let one choose what the place is: {element, value()}. */
function proposalKind({ proposed, values }) {
  let [value] = proposed;
  const buttons = proposed.map((one) => h("button", { onclick: () => press(one) }, values[one].word));
  const press = (chosen) => {
    value = chosen;
    buttons.forEach((button, place) => button.setAttribute("aria-pressed", String(proposed[place] === value)));
  };
  press(value);
  return { element: h("span.row", { role: "group", "aria-label": "What it is" }, buttons), value: () => value };
}

/** Write lines as an anchor: a single one is a range too. */
export function linesAnchor(pick) {
  return pick.start === pick.end ? `${pick.path}:${pick.start}-${pick.end}` : spanText(pick);
}

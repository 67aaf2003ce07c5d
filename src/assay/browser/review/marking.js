// Another place for the query: picked lines or a definition become a proposal, with the vote of who found them.

import { fill, h } from "../common/dom.js";
import { placeText } from "../common/format.js";
import { VALUE_WORDS } from "./ballot.js";

const PROPOSAL_VALUES = ["2", "1"]; // who finds a place holds it for an answer, or for help

/** Make the strip below the code: {element, offer(anchor)}; `propose({anchor, value, reason})` is told of a proposal. */
export function proposalStrip(propose, cancel) {
  const strip = h("section", { class: "proposal", "aria-label": "Propose another place", hidden: true });

  /** Offer a place, or nothing. */
  function offer(anchor) {
    strip.hidden = !anchor;
    if (!anchor) return fill(strip);
    let value = "2";
    const reason = h("input", { type: "text", id: "proposal-reason", placeholder: "Why? A few words", required: true });
    const buttons = PROPOSAL_VALUES.map((one) => h("button", { type: "button", "aria-pressed": String(one === value), onclick: () => {
      value = one;
      buttons.forEach((button, place) => button.setAttribute("aria-pressed", String(PROPOSAL_VALUES[place] === value)));
    } }, VALUE_WORDS[one].word));
    return fill(strip, h("form", { onsubmit: (event) => {
      event.preventDefault();
      if (reason.value.trim()) propose({ anchor, value, reason: reason.value.trim() });
    } },
      h("span", null, "Propose ", h("strong", { class: "mono" }, anchor), " as"), h("span", { class: "row", role: "group", "aria-label": "What it is" }, buttons),
      h("label", { for: "proposal-reason", class: "sr-only" }, "Why"), reason,
      h("button", { type: "submit", class: "primary" }, "Propose"), h("button", { type: "button", class: "quiet-button", onclick: cancel }, "Cancel")));
  }

  return { element: strip, offer, focus: () => strip.querySelector("input")?.focus() };
}

/** Write lines as an anchor: a single one is a range too. */
export function linesAnchor(pick) {
  return pick.start === pick.end ? `${pick.path}:${pick.start}-${pick.end}` : placeText(pick);
}

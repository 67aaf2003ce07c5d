// What is asked: the query in its phrasings, why its answer is one, where the proposal comes from, and its places.

import { h } from "../common/dom.js";

const ROLE_WORDS = { "the place": "proposed", primary: "answer", secondary: "helps", adversary: "adversary" };

/** Show an item without its votes below the question that a vote answers; `actions` has show(place), reveal(). */
export function questionCard(item, question, actions) {
  const [[, headline], ...others] = item.query.forms;
  return h(
    "section",
    { class: "question", "aria-label": "The query" },
    h("p", { class: "kicker" }, question, " · ", h("span", { class: "mono" }, item.query.id)),
    h("h1", { id: "headline" }, headline),
    others.length
      ? h(
          "dl",
          { class: "forms" },
          others.map(([form, text]) => [h("dt", null, form.replaceAll("_", " ")), h("dd", null, text)]),
        )
      : null,
    item.adversary ? adversaryNote(item.adversary) : null,
    item.query.rationale ? rationaleNote(item.query.rationale) : null,
    item.notes.map((note) => h("p", { class: "warning note" }, note)),
    placeList(item.places, actions),
    originNote(item, actions),
  );
}

/** List the places; each shows its code. */
function placeList(places, actions) {
  return h(
    "ul",
    { class: "places" },
    places.map((place) =>
      h(
        "li",
        null,
        h("button", { type: "button", class: "place-link mono", onclick: () => actions.show(place) }, place.anchor),
        " ",
        h(
          "span",
          { class: `badge ${place.role === "adversary" ? "warn" : "accent"}` },
          ROLE_WORDS[place.role] ?? place.role,
        ),
        place.problem ? h("p", { class: "bad note" }, place.problem) : null,
      ),
    ),
  );
}

/** Say what makes an adversary one. */
function adversaryNote(adversary) {
  return h(
    "p",
    { class: "note" },
    `Proposed adversary (${adversary.relationship}, ${adversary.strength}): ${adversary.confusion}`,
  );
}

/** Say why the answer is one. */
function rationaleNote(why) {
  const rows = [
    ["owner", why.owner],
    ["reason", why.reason],
    ["boundary", why.boundary],
  ].filter(([, text]) => text);
  return h(
    "dl",
    { class: "forms rationale" },
    rows.map(([name, text]) => [h("dt", null, name), h("dd", null, text)]),
  );
}

/** Say where a proposal comes from; which engines returned it only when asked, for that may sway. */
function originNote(item, actions) {
  const from = [item.origin.how, item.origin.source].filter(Boolean).join(", ");
  const engines = item.origin.shown_by;
  return h(
    "p",
    { class: "note origin" },
    from ? `Proposed from: ${from}. ` : null,
    engines?.length
      ? [
          "Returned by: ",
          engines.map((name, place) => [place ? ", " : null, h("strong", null, name)]),
          ". Your vote will say that you saw this.",
        ]
      : null,
    engines && !engines.length ? "No engine returned it." : null,
    item.has_engines && !engines && actions.reveal
      ? h(
          "button",
          { type: "button", class: "quiet-button", onclick: actions.reveal },
          "Show which engines returned it ",
          h("kbd", null, "e"),
        )
      : null,
  );
}

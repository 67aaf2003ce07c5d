// What is asked: the query in its phrasings, why its answer is one, where the proposal comes from, and its places.

import { h } from "../common/dom.js";

const ROLE_WORDS = { "the place": "proposed", primary: "answer", secondary: "helps", adversary: "adversary" };

/** Show an item without its votes below the question that a vote answers; `actions` has show(place), reveal(). */
export function questionCard(item, question, actions) {
  const [[, headline], ...others] = item.query.forms;
  return h("section.question", { "aria-label": "The query" }, [
    h("p.kicker", question, " · ", h("span.mono", item.query.id)),
    h("h1", { id: "headline" }, headline),
    others.length
      ? h(
          "dl.forms",
          others.map(([form, text]) => [h("dt", form.replaceAll("_", " ")), h("dd", text)]),
        )
      : null,
    item.adversary ? adversaryNote(item.adversary) : null,
    item.query.rationale ? rationaleNote(item.query.rationale) : null,
    item.notes.map((note) => h("p.warning.note", note)),
    placeList(item.places, actions),
    originNote(item, actions),
  ]);
}

/** List the places; each shows its code. */
function placeList(places, actions) {
  return h("ul.places", [
    places.map((place) =>
      h("li", [
        h("button.place-link.mono", { onclick: () => actions.show(place) }, place.anchor),
        " ",
        h("span", { class: `badge ${place.role === "adversary" ? "warn" : "accent"}` }, [
          ROLE_WORDS[place.role] ?? place.role,
        ]),
        place.problem ? h("p.bad.note", place.problem) : null,
      ]),
    ),
  ]);
}

/** Say what makes an adversary one. */
function adversaryNote(adversary) {
  return h("p.note", `Proposed adversary (${adversary.relationship}, ${adversary.strength}): ${adversary.confusion}`);
}

/** Say why the answer is one. */
function rationaleNote(why) {
  const rows = [
    ["owner", why.owner],
    ["reason", why.reason],
    ["boundary", why.boundary],
  ].filter(([, text]) => text);
  return h(
    "dl.forms.rationale",
    rows.map(([name, text]) => [h("dt", name), h("dd", text)]),
  );
}

/** Say where a proposal comes from; which engines returned it only when asked, for that may sway. */
function originNote(item, actions) {
  const from = [item.origin.how, item.origin.source].filter(Boolean).join(", ");
  const engines = item.origin.shown_by;
  return h("p.note.origin", [
    from ? `Proposed from: ${from}. ` : null,
    engines?.length
      ? [
          "Returned by: ",
          engines.map((name, place) => [place ? ", " : null, h("strong", name)]),
          ". Your vote will say that you saw this.",
        ]
      : null,
    engines && !engines.length ? "No engine returned it." : null,
    item.has_engines && !engines && actions.reveal
      ? h("button.quiet-button", { onclick: actions.reveal }, "Show which engines returned it ", h("kbd", "e"))
      : null,
  ]);
}

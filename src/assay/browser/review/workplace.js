// One item on the desk: the question at the side, the code beside it. Votes and decisions are given in the same place.

import { fill, h } from "../common/dom.js";
import { announce } from "../common/page.js";
import { askPatiently } from "./asking.js";
import { troubleNote } from "./frame.js";
import { lookForDefinition, lookForFile } from "./looking.js";
import { linesAnchor, proposalStrip } from "./marking.js";
import { questionCard } from "./question.js";
import { revealEngines, say } from "./session.js";
import { sourcePane } from "./source.js";

/** Build the place: {element, show(id), keys, close()}; `below(item)` gives what stands below the question. */
export function workplace(session, { below, last }) {
  const place = { session, below, item: null, turn: 0 };
  place.question = h("div.question-box");
  place.form = h("div.form-box");
  place.strip = proposalStrip(
    session.about,
    (proposal) => propose(place, proposal),
    () => place.source.pick(null),
  );
  place.source = sourcePane(session.about.colours, (pick) => place.strip.offer(pick && linesAnchor(pick)));
  place.element = h("div.workplace", [
    h("div.side-column", place.question, place.form, last),
    h("div.code-column", codeTools(place), place.source.element, place.strip.element),
  ]);
  const close = () => {
    place.turn += 1;
    place.source.close();
  };
  return { element: place.element, show: (id) => showItem(place, id), keys: placeKeys(place), close };
}

/** Show an item, as soon as the server gives it. */
async function showItem(place, id) {
  const { session } = place;
  const turn = (place.turn += 1);
  const wanted = () => turn === place.turn;
  const waiting = (error) => wanted() && fill(place.question, troubleNote(error));
  try {
    const params = { as: session.name, item: id, engines: session.engines.has(id) ? "1" : "0" };
    const item = await askPatiently("item", params, { wanted, waiting });
    if (wanted()) drawItem(place, item);
  } catch (error) {
    waiting(error);
  }
}

/** Draw an item. */
function drawItem(place, item) {
  place.item = item;
  place.element.dataset.item = item.item;
  const { question } = place.session.about.kinds[item.kind];
  const actions = { show: (one) => showCode(place, one), reveal: () => reveal(place) };
  fill(place.question, questionCard(item, question, actions));
  fill(place.form, place.below(item));
  place.strip.offer(null);
  showProposed(place);
}

/** Show the code of a place, with all places of the item in that file marked. */
function showCode(place, shown) {
  if (shown.problem) return announce(shown.problem);
  const marks = place.item.places.filter((one) => one.path === shown.path && !one.problem);
  return place.source.show(shown, marks);
}

/** Go to what is to be judged. */
function showProposed(place) {
  const proposed = place.item?.places.find((one) => !one.problem);
  if (proposed) showCode(place, proposed);
}

/** Show which engines returned it; from then on the vote says so. */
function reveal(place) {
  const { session, item } = place;
  if (!item?.has_engines || session.engines.has(item.item)) return;
  revealEngines(session, item.item);
  showItem(place, item.item);
}

/** Open another file of the corpus. */
function openFile(place) {
  lookForFile((path) => showCode(place, { path, start: 1 }));
}

/** Choose a definition of the file that is shown, to propose it. */
function openDefinitions(place) {
  const path = place.source.path();
  lookForDefinition(path, async ({ name, start, end }) => {
    await showCode(place, { path, start });
    place.source.pick(start, end, { quiet: true });
    place.strip.offer(`${path}::${name}`);
    place.strip.focus();
  });
}

/** Send a proposal. */
function propose({ session, item, source }, proposal) {
  say(session, "place", { item: item.item, engines: session.engines.has(item.item), ...proposal });
  source.pick(null);
  source.pane.focus();
}

/** List what keys do at this place. */
function placeKeys(place) {
  const { source, strip } = place;
  const into = "Go into the source: arrows move, Space and Shift+arrows pick lines";
  return [
    { keys: ["e"], label: "Show which engines returned it", run: () => reveal(place) },
    { keys: ["o"], label: "Open another file", run: () => openFile(place) },
    { keys: ["d"], label: "Choose a definition of the file", run: () => openDefinitions(place) },
    { keys: ["g"], label: "Go back to the proposed place", run: () => showProposed(place) },
    { keys: ["s"], label: into, run: () => source.pane.focus() },
    { keys: ["p"], label: "Write why the picked lines are proposed", run: () => strip.focus() },
  ];
}

/** Make the buttons above the code. */
function codeTools(place) {
  const button = (label, key, run) =>
    h("button.quiet-button", { onclick: () => run(place) }, label, " ", h("kbd", key));
  return h("div.code-tools", [
    place.source.head,
    h("span.spacer"),
    button("Proposed place", "g", showProposed),
    button("Definitions", "d", openDefinitions),
    button("Open file", "o", openFile),
  ]);
}

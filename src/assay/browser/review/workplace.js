// One item on the desk: the question at the side, the code beside it. Votes and decisions are given in the same place.

import { fill, h } from "../common/dom.js";
import { announce } from "../common/copying.js";
import { ask, askPatiently } from "./asking.js";
import { openChooser } from "./choosing.js";
import { troubleNote } from "./desk.js";
import { linesAnchor, proposalStrip } from "./marking.js";
import { questionCard } from "./question.js";
import { revealEngines, say } from "./session.js";
import { sourcePane } from "./source.js";

/** Build the place: {element, side, show(id), keys}; `below(item)` gives what stands below the question. */
export function workplace(session, { below, last }) {
  const question = h("div", { class: "question-box" });
  const strip = proposalStrip(propose, () => source.pick(null));
  const source = sourcePane(session.about.colours, (pick) => strip.offer(pick && linesAnchor(pick)));
  const tools = codeTools(source, { open: openFile, define: openDefinitions, back: backToPlace });
  const form = h("div", { class: "form-box" });
  const element = h("div", { class: "workplace" }, h("div", { class: "side-column" }, question, form, last),
    h("div", { class: "code-column" }, tools, source.element, strip.element));
  const state = { item: null, turn: 0 };

  /** Show an item, as soon as the server gives it. */
  async function show(id) {
    const turn = (state.turn += 1);
    const params = { as: session.name, item: id, engines: session.engines.has(id) ? "1" : "0" };
    try {
      const item = await askPatiently("item", params, { wanted: () => turn === state.turn, waiting: (error) => fill(question, troubleNote(error)) });
      if (turn === state.turn) draw(item);
    } catch (error) {
      if (turn === state.turn) fill(question, troubleNote(error));
    }
  }

  /** Draw an item. */
  function draw(item) {
    state.item = item;
    element.dataset.item = item.item;
    fill(question, questionCard(item, { show: (place) => showPlace(place), reveal }));
    fill(form, below(item));
    strip.offer(null);
    backToPlace();
  }

  /** Show the code of a place, with all places of the item in that file marked. */
  function showPlace(place) {
    if (place.problem) return announce(place.problem);
    const marks = state.item.places.filter((one) => one.path === place.path && !one.problem);
    return source.show(place, marks);
  }

  /** Go back to what is to be judged. */
  function backToPlace() {
    const place = state.item?.places.find((one) => !one.problem);
    if (place) showPlace(place);
  }

  /** Show which engines returned it; from then on the vote says so. */
  function reveal() {
    if (!state.item?.has_engines || session.engines.has(state.item.item)) return;
    revealEngines(session, state.item.item);
    show(state.item.item);
  }

  /** Look for another file of the corpus. */
  function openFile() {
    const find = async (text) => {
      const { paths, total } = await ask("paths", { find: text });
      return { rows: paths.map((path) => ({ label: path, value: path })), more: total > paths.length ? `and ${total - paths.length} more: type on` : `${total} files` };
    };
    openChooser({ title: "Open a file of the corpus", find, choose: (path) => showPlace({ path, start: 1 }) });
  }

  /** Choose a definition of the file that is shown. */
  async function openDefinitions() {
    const path = source.path();
    const asked = ask("definitions", { path });
    const find = async (text) => {
      const { definitions } = await asked;
      const fitting = definitions.filter(([name]) => name.toLowerCase().includes(text.trim().toLowerCase()));
      const rows = fitting.slice(0, 200).map(([name, kind, start, end]) => ({ label: name, note: start === end ? `${kind}, line ${start}` : `${kind}, lines ${start}–${end}`, value: { name, start, end } }));
      return { rows, more: definitions.length ? `${fitting.length} of ${definitions.length} definitions` : "Nothing is known to be defined here: pick lines" };
    };
    openChooser({ title: `Definitions of ${path}`, find, choose: async ({ name, start, end }) => {
      await showPlace({ path, start });
      source.pick(start, end, { quiet: true });
      strip.offer(`${path}::${name}`);
      strip.focus();
    } });
  }

  /** Send a proposal. */
  function propose(proposal) {
    say(session, "place", { item: state.item.item, engines: session.engines.has(state.item.item), ...proposal });
    source.pick(null);
    source.pane.focus();
  }

  const keys = [
    { keys: ["e"], label: "Show which engines returned it", run: reveal },
    { keys: ["o"], label: "Open another file", run: openFile },
    { keys: ["d"], label: "Choose a definition of the file", run: openDefinitions },
    { keys: ["g"], label: "Go back to the proposed place", run: backToPlace },
    { keys: ["s"], label: "Go into the source: arrows move, Space and Shift+arrows pick lines", run: () => source.pane.focus() },
    { keys: ["p"], label: "Write why the picked lines are proposed", run: () => strip.focus() },
  ];
  return { element, show, keys, item: () => state.item, close: () => { state.turn += 1; source.close(); } };
}

/** Make the buttons above the code. */
function codeTools(source, { open, define, back }) {
  const button = (label, key, run) => h("button", { type: "button", class: "quiet-button", onclick: run }, label, " ", h("kbd", null, key));
  return h("div", { class: "code-tools" }, source.head, h("span", { class: "spacer" }), button("Proposed place", "g", back), button("Definitions", "d", define), button("Open file", "o", open));
}

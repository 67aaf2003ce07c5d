// One item: the query and the form at the side, the code beside them. Votes and decisions use the same page.

import { fill, h, onSubmit, pairList } from "../common/dom.js";
import { announce } from "../common/page.js";
import { pickDefinition, pickFile } from "./picker.js";
import { getPatiently, revealEngines, send, troubleNote } from "./session.js";
import { sourcePane } from "./source.js";

/**
 * Build the page: {element, show(id), keys, close()}. `below(item)` returns what follows the query;
 * `onReword(text)`, if given, saves another question.
 */
export function itemPage(session, { below, footer, onReword }) {
  const page = { session, below, onReword, item: null, request: 0 };
  page.query = h("div.query-box");
  page.form = h("div.form-box");
  page.proposal = proposalStrip(
    session.about,
    (proposal) => propose(page, proposal),
    () => page.source.select(null),
  );
  const offerLines = (lines) => page.proposal.offer(lines && `${lines.path}:${lines.start}-${lines.end}`);
  page.source = sourcePane(session.about.colours, offerLines);
  page.element = h("div.item-page", [
    h("div.side-column", page.query, page.form, footer),
    h("div.code-column", codeTools(page), page.source.element, page.proposal.element),
  ]);
  const close = () => {
    page.request += 1;
    page.source.close();
  };
  return { element: page.element, show: (id) => loadItem(page, id), keys: itemKeys(page), close };
}

async function loadItem(page, id) {
  const { session } = page;
  const request = (page.request += 1);
  const wanted = () => request === page.request;
  const waiting = (error) => wanted() && fill(page.query, troubleNote(error));
  try {
    const params = { as: session.name, item: id, engines: session.engines.has(id) ? "1" : "0" };
    const item = await getPatiently("item", params, { wanted, waiting });
    if (wanted()) drawItem(page, item);
  } catch (error) {
    waiting(error);
  }
}

function drawItem(page, item) {
  page.item = item;
  page.element.dataset.item = item.item;
  fill(page.query, queryCard(page, item));
  fill(page.form, page.below(item));
  page.proposal.offer(null);
  showProposed(page);
}

/** Show the code of a span, with all spans of the item in that file marked. */
function showCode(page, span) {
  if (span.problem) return announce(span.problem);
  const marks = page.item.places.filter(({ path, problem }) => path === span.path && !problem);
  return page.source.show(span, marks);
}

function showProposed(page) {
  const proposed = page.item?.places.find(({ problem }) => !problem);
  if (proposed) showCode(page, proposed);
}

/** Show which engines returned the span; from then on the vote records it. */
function reveal(page) {
  const { session, item } = page;
  if (!item?.has_engines || session.engines.has(item.item)) return;
  revealEngines(session, item.item);
  loadItem(page, item.item);
}

function openFile(page) {
  pickFile((path) => showCode(page, { path, start: 1 }));
}

/** Choose a definition of the current file to propose it. */
function openDefinitions(page) {
  const path = page.source.path();
  pickDefinition(path, async ({ name, start, end }) => {
    await showCode(page, { path, start });
    page.source.select(start, end, { quiet: true });
    page.proposal.offer(`${path}::${name}`);
    page.proposal.focus();
  });
}

function propose({ session, item, source }, proposal) {
  send(session, "place", { item: item.item, engines: session.engines.has(item.item), ...proposal });
  source.select(null);
  source.pane.focus();
}

function itemKeys(page) {
  const { source, proposal } = page;
  const sourceHelp = "Focus the source: arrows move, Space and Shift+arrows select lines";
  return [
    { keys: ["e"], label: "Show which engines returned it", run: () => reveal(page) },
    { keys: ["o"], label: "Open another file", run: () => openFile(page) },
    { keys: ["d"], label: "Choose a definition of the file", run: () => openDefinitions(page) },
    { keys: ["g"], label: "Go back to the proposed target", run: () => showProposed(page) },
    { keys: ["s"], label: sourceHelp, run: () => source.pane.focus() },
    ...(page.onReword ? [{ keys: ["w"], label: "Edit the query and accept it", run: () => reword(page) }] : []),
    { keys: ["p"], label: "Give a reason for the selected lines", run: () => proposal.focus() },
  ];
}

function codeTools(page) {
  const button = (label, key, run) => h("button.quiet-button", { onclick: () => run(page) }, label, " ", h("kbd", key));
  return h("div.code-tools", [
    page.source.head,
    h("span.spacer"),
    button("Proposed target", "g", showProposed),
    button("Definitions", "d", openDefinitions),
    button("Open file", "o", openFile),
  ]);
}

// --- the query -----------------------------------------------------------------------------------------------------

const ROLE_WORDS = { primary: "target", secondary: "helps", adversary: "adversary" };

function queryCard(page, item) {
  const { query, adversary } = item;
  const [[, headline], ...others] = query.forms;
  const { owner, reason, boundary } = query.rationale ?? {};
  const rationale = Object.entries({ owner, reason, boundary }).filter(([, text]) => text);
  const forms = others.map(([form, text]) => [form.replaceAll("_", " "), text]);
  return h("section.query-card", { "aria-label": "The query" }, [
    h("p.kicker", page.session.about.kinds[item.kind].question, " · ", h("span.mono", query.id)),
    h("h1", { id: "headline" }, headline),
    canReword(page) &&
      h("button.quiet-button.reword-button", { onclick: () => reword(page) }, "Edit the query ", h("kbd", "w")),
    forms.length > 0 && pairList("dl.forms", forms),
    adversary &&
      h("p.note", `Proposed adversary (${adversary.relationship}, ${adversary.strength}): ${adversary.confusion}`),
    query.rationale && pairList("dl.rationale", rationale),
    item.notes.map((note) => h("p.warning.note", note)),
    h(
      "ul.places",
      item.places.map((span) => spanEntry(page, span)),
    ),
    originNote(page, item),
  ]);
}

function canReword({ onReword, item, session }) {
  return onReword && item?.kind === "query" && !session.adjudicates;
}

/** Replace the headline by a field with the question: Enter saves it, Escape leaves it unchanged. */
function reword(page) {
  if (!canReword(page) || document.getElementById("new-question")) return;
  const [[, headline]] = page.item.query.forms;
  const field = h("textarea", { id: "new-question", rows: "2", "aria-label": "The new query" });
  field.value = headline;
  const cancel = () => fill(page.query, queryCard(page, page.item));
  const save = () => {
    const text = field.value.trim().split(/\s+/).join(" ");
    if (text && text !== headline) page.onReword(text);
    else cancel();
  };
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return cancel();
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return undefined;
    event.preventDefault();
    return save();
  });
  const form = h("form.reword", { "aria-label": "Edit the query", onsubmit: onSubmit(save) }, [
    field,
    h("div.row", [
      h("button.primary", { type: "submit" }, "Save and accept ", h("kbd", "Enter")),
      h("button.quiet-button", { type: "button", onclick: cancel }, "Cancel ", h("kbd", "Esc")),
    ]),
  ]);
  document.querySelector(".reword-button")?.remove();
  document.getElementById("headline").replaceWith(form);
  field.focus();
  field.select();
}

function spanEntry(page, span) {
  return h("li", [
    h("button.place-link.mono", { onclick: () => showCode(page, span) }, span.anchor),
    " ",
    h("span.badge", { class: span.role === "adversary" ? "warn" : "accent" }, ROLE_WORDS[span.role] ?? span.role),
    span.problem && h("p.bad.note", span.problem),
  ]);
}

/** Render where a proposal comes from; its engines only on request, because they may influence the vote. */
function originNote(page, item) {
  const { how, source, shown_by: engines } = item.origin;
  const origin = [how, source].filter(Boolean).join(", ");
  return h("p.note.origin", [
    origin && `Proposed from: ${origin}. `,
    engines?.length > 0 && [
      "Returned by: ",
      engines.map((name, index) => [index ? ", " : null, h("strong", name)]),
      ". Your vote will record that you saw this.",
    ],
    engines?.length === 0 && "No engine returned it.",
    item.has_engines &&
      !engines &&
      h("button.quiet-button", { onclick: () => reveal(page) }, "Show which engines returned it ", h("kbd", "e")),
  ]);
}

/** Render why the server rejected the last message about an item. */
export function refusalNote(session, { item }) {
  const refusal = session.refusals.get(item);
  return refusal && h("p.warning", { role: "alert" }, h("strong", "Not saved: "), refusal.message, ". ", refusal.hint);
}

// --- the form: a value by one key, a reason, Enter -----------------------------------------------------------------

/**
 * Create the form of a vote or a decision: {element, choose(value), values, meanings}.
 * `onChange(draft)` is called on every change, `onSave(vote)` with a complete vote.
 */
export function ballotForm({ title, values, meanings, draft, saveLabel, onChange, onSave }) {
  let chosen = draft?.value ?? null;
  const reason = h("textarea", {
    id: "reason",
    rows: "2",
    placeholder: "Why? A few words",
    "aria-describedby": "reason-help",
    oninput: () => changed(),
  });
  reason.value = draft?.reason ?? "";
  const problem = h("p.bad.note", { role: "alert", hidden: true });
  const buttons = values.map((value) =>
    h(`button.value.value-${value}`, { dataset: { value }, onclick: () => choose(value) }, [
      h("kbd", meanings[value].key),
      " ",
      meanings[value].word,
    ]),
  );
  const press = (value) => {
    chosen = value;
    buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(values[index] === value)));
  };
  const changed = () => onChange({ value: chosen, reason: reason.value });
  const choose = (value) => {
    press(value);
    changed();
    reason.focus();
  };
  const save = () => {
    const text = reason.value.trim();
    const missingValue = !chosen && `Choose ${values.map((value) => meanings[value].key).join(", ")} first`;
    const missing = missingValue || (!text && "Give a reason in a few words");
    problem.hidden = !missing;
    fill(problem, missing);
    if (missing) return (chosen ? reason : buttons[0]).focus();
    // Further keys belong to the next item.
    for (const control of [reason, ...element.querySelectorAll("button")]) control.disabled = true;
    return onSave({ value: chosen, reason: text });
  };
  reason.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return reason.blur();
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return undefined;
    event.preventDefault();
    return save();
  });
  const element = h("form.ballot", { "aria-label": title, onsubmit: onSubmit(save) }, [
    h("div.values", { role: "group", "aria-label": "Your answer" }, buttons),
    h("label.visually-hidden", { for: "reason" }, "Reason"),
    reason,
    h("div.row", [
      h("button.primary", { type: "submit" }, saveLabel, " ", h("kbd", "Enter")),
      h("span.note", { id: "reason-help" }, "Shift+Enter: new line, Esc: leave"),
    ]),
    problem,
  ]);
  press(chosen);
  return { element, choose, values, meanings };
}

/** Return the keys that choose the values of a form. */
export function ballotKeys({ values, meanings, choose }) {
  return values.map((value) => {
    const { key, word } = meanings[value];
    return { keys: [key], label: `Choose: ${word}`, run: () => choose(value) };
  });
}

// --- proposals: selected lines or a definition, with a vote --------------------------------------------------------

/** Create the strip below the code: {element, offer(anchor), focus()}; `submit({anchor, value, reason})` proposes. */
function proposalStrip({ proposed, values }, submit, cancel) {
  const strip = h("section.proposal", { "aria-label": "Propose another target", hidden: true });
  const offer = (anchor) => {
    strip.hidden = !anchor;
    fill(strip, anchor && proposalForm(anchor));
  };
  const proposalForm = (anchor) => {
    let [value] = proposed;
    const press = (chosen) => {
      value = chosen;
      buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(proposed[index] === value)));
    };
    const buttons = proposed.map((option) => h("button", { onclick: () => press(option) }, values[option].word));
    press(value);
    const reason = h("input", { type: "text", id: "proposal-reason", placeholder: "Why? A few words", required: true });
    const propose = () => reason.value.trim() && submit({ anchor, value, reason: reason.value.trim() });
    return h("form", { onsubmit: onSubmit(propose) }, [
      h("span", "Propose ", h("strong.mono", anchor), " as"),
      h("span.row", { role: "group", "aria-label": "Kind of target" }, buttons),
      h("label.visually-hidden", { for: "proposal-reason" }, "Reason"),
      reason,
      h("button.primary", { type: "submit" }, "Propose"),
      h("button.quiet-button", { onclick: cancel }, "Cancel"),
    ]);
  };
  return { element: strip, offer, focus: () => strip.querySelector("input")?.focus() };
}

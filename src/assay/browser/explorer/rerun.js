// Rerunning a query on the builtin engine with other settings, on a page that `assay serve` made.

import { askServer, problemText } from "../common/client.js";
import { fill, h, onSubmit, option, prose } from "../common/dom.js";
import { duration, fixed, SHOWN_STEP, signed, spanText } from "../common/format.js";
import { copyButton } from "../common/page.js";
import { headColumn, numberColumn, table } from "../common/table.js";
import { stageTable } from "./query/trace.js";

const SLOW_OPENING = 0.05; // seconds; a faster opening is not worth mentioning
// Changes are kept from query to query: the same change is tried on many.
const rerunState = { engine: null, changes: new Map() };

/** Draw the panel into a container; nothing if the page is not live. */
export function renderRerun(data, unit, container) {
  if (!data.live) return;
  const { engines } = data.live;
  const section = h("section.rerun", { "aria-labelledby": "rerun-title" }, h("h2", { id: "rerun-title" }, "Rerun"));
  fill(container, section);
  if (!engines.length) {
    section.append(h("p.note", "This run has no builtin engine, and only the builtin engine can be rerun from here."));
    return;
  }
  const panel = {
    data,
    unit,
    engine: engines.find(({ name }) => name === rerunState.engine) ?? engines[0],
    settings: h("div.rerun-settings"),
    result: h("div.rerun-result", { "aria-live": "polite" }),
  };
  const about =
    "Search the current files with other settings or text to see how the ranking changes. The run is not modified.";
  section.append(h("p.note", about), rerunForm(panel), panel.result);
  drawSettings(panel);
}

function rerunForm(panel) {
  panel.words = h("textarea", { id: "rerun-words", rows: 2, maxlength: 4000, spellcheck: "false" });
  panel.words.value = panel.unit.text;
  panel.button = h("button.primary", { type: "submit" }, "Rerun");
  const reset = () => {
    rerunState.changes.clear();
    panel.words.value = panel.unit.text;
    fill(panel.result);
    drawSettings(panel);
  };
  return h("form.rerun-form", { onsubmit: onSubmit(() => rerun(panel)) }, [
    engineChoice(panel),
    h("label", { for: "rerun-words" }, "Query"),
    panel.words,
    panel.settings,
    h("div.rerun-actions", [
      panel.button,
      h("button.quiet-button", { onclick: reset }, "Reset"),
      copyButton(() => variantToml(panel.engine, rerunState.changes), "Copy as a variant for assay.toml"),
    ]),
  ]);
}

function engineChoice(panel) {
  const { engines } = panel.data.live;
  if (engines.length < 2) return null;
  const change = () => {
    panel.engine = engines[select.selectedIndex];
    rerunState.engine = panel.engine.name;
    drawSettings(panel);
  };
  const options = engines.map((engine) => option(engine.name, engine.name, engine === panel.engine));
  const select = h("select", { id: "rerun-engine", onchange: change }, options);
  return [h("label", { for: "rerun-engine" }, "Engine"), select];
}

function drawSettings(panel) {
  const { engine, settings: box } = panel;
  const { changes } = rerunState;
  const open = box.querySelector("details")?.open ?? false;
  const add = (setting) => {
    if (!changes.has(setting.name)) changes.set(setting.name, settingValue(engine, setting));
    drawSettings(panel);
    box.querySelector(`[data-setting="${CSS.escape(setting.name)}"]`)?.focus();
  };
  const remove = (setting) => {
    changes.delete(setting.name);
    drawSettings(panel);
    box.querySelector("summary").focus();
  };
  const { settings } = panel.data.live;
  fill(box, changedSettings(settings, engine, changes, remove), settingPicker(settings, engine, changes, add, open));
}

/** Rerun the query and show what moved; a response to an older request is dropped. */
async function rerun(panel) {
  const { unit, engine } = panel;
  const isOwnText = panel.words.value.trim() === unit.text.trim();
  const query = isOwnText ? { query: unit.query.id, form: unit.form } : { text: panel.words.value };
  const changes = Object.fromEntries(rerunState.changes);
  const request = (panel.request = { engine: engine.engine, gold: unit.gold, ...query, changes });
  panel.button.disabled = true;
  panel.settings.querySelector("details").open = false;
  const stop = showProgress(panel.result);
  const show = (...content) => panel.request === request && fill(panel.result, content);
  try {
    const answer = await askServer(engine.ask, request);
    show(rerunResult(answer, isOwnText ? unit.query : null, rerunState.changes.size));
  } catch (error) {
    show(h("p.warning", { role: "alert" }, problemText(error)));
  } finally {
    stop();
    panel.button.disabled = false;
  }
}

/** Show the elapsed seconds; return the function that stops counting. */
function showProgress(container) {
  const seconds = h("span", { "aria-hidden": "true" });
  const start = performance.now();
  fill(container, [
    h("p.note", [
      "Searching… The first search, and one with new index settings, builds the index first: ",
      "about a second per megabyte of code. ",
      seconds,
    ]),
  ]);
  const show = () => (seconds.textContent = `${Math.round((performance.now() - start) / 1000)} s`);
  const timer = setInterval(show, 1000);
  return () => clearInterval(timer);
}

// --- the result: what moved, and why -------------------------------------------------------------------------------

/** Draw the response; `query` is null for a text that the gold set does not contain, so targets are unknown. */
function rerunResult(answer, query, changeCount) {
  const opening = answer.opening > SLOW_OPENING ? `; opened in ${duration(answer.opening)}` : "";
  return [
    h("h3", "Rank changes"),
    h("p.rerun-summary", answer.value && valueChange(answer.value), movementSummary(answer, changeCount)),
    h("p.note", `Answered in ${duration(answer.seconds)}${opening}.`),
    answer.notes.map((note) => h("p.warning", note)),
    !query && h("p.note", "This text is not in the gold set, so its targets are unknown."),
    h("div.moves", movesTable(answer, query)),
    h("h3", "Trace of the new ranking"),
    stageTable(answer.trace, query?.targets ?? []),
  ];
}

function movementSummary({ hits, removed, k }, changeCount) {
  const up = hits.filter((hit) => hit.before === null || hit.rank < hit.before).length;
  const isLower = ({ rank, before }) => before !== null && (rank === null || rank > before);
  const down = [...hits, ...removed].filter(isLower).length;
  if (up || down) return `${up} up, ${down} down among the first ${k}. `;
  return changeCount ? "The first results are unchanged. " : "Identical to the run's settings. ";
}

function valueChange({ measure, before, after, higher }) {
  const gain = (after - before) * (higher ? 1 : -1);
  const tone = Math.abs(gain) < SHOWN_STEP ? "" : gain > 0 ? "good" : "bad";
  return [
    h("span", `${measure} ${fixed(before)} → `),
    h("strong", { class: tone }, fixed(after)),
    h("span", { class: tone }, ` (${signed(after - before)})`),
    ". ",
  ];
}

/** Draw the new ranking, followed by the hits that left it. */
function movesTable({ hits, removed, k, ranked }, query) {
  const rankText = (rank) => (rank === null ? `> ${ranked}` : String(rank));
  const isOut = ({ rank }) => rank === null || rank > k;
  const rose = ({ rank, before }) => (rank === null || before === null ? null : before - rank);
  return table({
    caption: "The new ranking and the previous rank of each result",
    columns: [
      numberColumn("rank", "Rank", (hit) => hit.rank, rankText, { first: "ascending" }),
      numberColumn("before", "Was", (hit) => hit.before, rankText, { first: "ascending" }),
      numberColumn("move", "Move", rose, null, { text: moveText, cell: moveCell }),
      headColumn("place", "Result", spanText, { cell: (hit) => resultCell(hit, query) }),
      numberColumn("score", "Score", (hit) => hit.score),
    ],
    rows: [...hits, ...removed],
    rowProps: (hit) => ({ class: [hit.target !== null && "answer", isOut(hit) && "left"].filter(Boolean).join(" ") }),
    empty: "No results.",
  });
}

function moveText({ rank, before }) {
  if (before === null) return "▲ new";
  if (rank === null) return "▼ removed";
  return before === rank ? "=" : `${before > rank ? "▲" : "▼"} ${Math.abs(before - rank)}`;
}

/** Render a move with a color and a sign of the same meaning. */
function moveCell(hit) {
  const text = moveText(hit);
  const [word, tone] = { "▲": ["up", "good"], "▼": ["down", "bad"] }[text[0]] ?? ["same", "soft"];
  return h("span.move", { class: tone, "aria-label": `${word} ${text.slice(2)}`.trim(), role: "img" }, text);
}

function resultCell(hit, query) {
  const grade = hit.target === null ? null : query?.targets[hit.target]?.grade;
  return [
    h("span.place", spanText(hit)),
    " ",
    hit.target !== null && h("span.badge.good", grade === 1 ? "✓ secondary" : "✓ target"),
    hit.adversary !== null && h("span.badge.bad", "✗ adversary"),
  ];
}

// --- settings: the changed ones with their fields, and the list to choose from -------------------------------------

function settingValue(engine, setting) {
  return setting.name in engine.values ? engine.values[setting.name] : setting.default;
}

/** Draw a row for each changed setting: name, field, previous value, description. */
function changedSettings(settings, engine, changes, remove) {
  if (!changes.size) return h("p.note", "No settings changed: the query uses the settings of the run.");
  const rows = settings
    .filter(({ name }) => changes.has(name))
    .map((setting) => {
      const { name } = setting;
      const id = `setting-${name}`;
      const props = { "aria-label": `Restore ${name}`, onclick: () => remove(setting) };
      return h("li", [
        h("label", { for: id }, h("code", shortName(setting))),
        settingField(setting, changes, id),
        h("span.note", `was ${valueText(settingValue(engine, setting))}`),
        h("button.quiet-button", props, "✕"),
        h("span.note.about", prose(aboutText(setting))),
      ]);
    });
  return h("ul.changed-settings", rows);
}

/** Create the field of a setting by its type; it writes into the changes. */
function settingField({ name, type, choices }, changes, id) {
  const props = { id, dataset: { setting: name } };
  const set = (value) => changes.set(name, value);
  const value = changes.get(name);
  if (choices) return choiceField(choices, value, props, set);
  if (type === "true or false")
    return choiceField(["true", "false"], String(value), props, (text) => set(text === "true"));
  if (type.startsWith("a list")) {
    const read = () =>
      set(
        field.value
          .split(",")
          .map((item) => item.trim())
          .filter(Boolean),
      );
    const field = h("input", { ...props, type: "text", placeholder: "comma-separated names", oninput: read });
    field.value = value.join(", ");
    return field;
  }
  const isNumeric = type === "a number" || type === "a whole number";
  const field = h("input", {
    ...props,
    type: isNumeric ? "number" : "text",
    step: type === "a number" ? "any" : "1",
    required: isNumeric,
    oninput: () => set(isNumeric ? field.valueAsNumber : field.value),
  });
  field.value = value;
  return field;
}

function choiceField(choices, value, props, set) {
  const options = choices.map((choice) => option(choice, choice, choice === value));
  const field = h("select", { ...props, onchange: () => set(field.value) }, options);
  return field;
}

/** Draw the searchable list of settings that are not changed; `add(setting)` changes one. */
function settingPicker(settings, engine, changes, add, open) {
  const list = h("ul.setting-list");
  const draw = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = ({ name, about }) => words.every((word) => `${name} ${about}`.toLowerCase().includes(word));
    const matching = settings.filter((setting) => !changes.has(setting.name) && matches(setting));
    const items = matching.map((setting) => settingItem(setting, engine, () => add(setting)));
    fill(list, items.length ? items : h("li.note", "No setting matches these words."));
  };
  const search = h("input", {
    type: "search",
    id: "rerun-search",
    placeholder: "name or description",
    autocomplete: "off",
    oninput: draw,
    onkeydown: (event) => event.key === "Enter" && event.preventDefault(),
  });
  draw();
  return h("details.setting-picker", { open }, [
    h("summary", `Change a setting (${settings.length})`),
    h("label", { for: "rerun-search" }, "Find"),
    search,
    list,
  ]);
}

function settingItem(setting, engine, add) {
  return h("li", [
    h("button.setting-button", { onclick: add }, [
      h("code", shortName(setting)),
      h("span.value", valueText(settingValue(engine, setting))),
      h("span.note", prose(aboutText(setting))),
    ]),
  ]);
}

/** Return a name without the prefix that nearly all settings share. */
function shortName({ name }) {
  return name.replace(/^search\./, "");
}

function aboutText({ about, index, model }) {
  return about + (index ? " (rebuilds the index)" : "") + (model ? " (here only on or off)" : "");
}

function valueText(value) {
  if (Array.isArray(value)) return value.length ? value.join(", ") : "none";
  return value === "" || value === null ? "empty" : String(value);
}

/** Format the changes as a variant of an experiment. */
function variantToml(engine, changes) {
  const pairs = [...changes].map(([name, value]) => `${JSON.stringify(name)} = ${JSON.stringify(value)}`);
  return `[variants.tried]\nengine = ${JSON.stringify(engine.engine)}\nset = { ${pairs.join(", ")} }\n`;
}

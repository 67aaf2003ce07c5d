// Asking the builtin again with other settings, on a page that `assay serve` made.

import { h, fill, option } from "../../common/dom.js";
import { askServer, problemText } from "../../common/asking.js";
import { copyButton } from "../../common/copying.js";
import { changedRows, settingPicker, variantToml } from "./settings.js";
import { movesPanel } from "./moves.js";

// What was set stays while one goes from query to query: the same change is tried on many.
const rerunState = { engine: null, changes: new Map() };

/** Draw the panel of a query that can be asked again into a container; nothing where the page is not live. */
export function renderLive(data, unit, container) {
  if (!data.live) return;
  const title = h("h2", { id: "rerun-title" }, "Ask again");
  const section = h("section.rerun", { "aria-labelledby": "rerun-title" }, title);
  fill(container, section);
  if (!data.live.engines.length) {
    section.append(h("p.note", "No engine of this run is builtin, and only the builtin can be asked again from here."));
    return;
  }
  const panel = {
    data,
    unit,
    section,
    engine: chosenEngine(data.live),
    settings: h("div.rerun-settings"),
    result: h("div.rerun-result", { "aria-live": "polite" }),
  };
  section.append(
    h("p.note", [
      "Ask the builtin engine with other settings, or in other words, over the files as they are now, and " +
        "see which results move. Nothing of the run is changed.",
    ]),
    rerunForm(panel),
    panel.result,
  );
  drawSettings(panel);
}

/** Choose the engine that was asked last, or the first. */
function chosenEngine(live) {
  return live.engines.find((one) => one.name === rerunState.engine) ?? live.engines[0];
}

/** Make the form: engine, words, settings, and the button. */
function rerunForm(panel) {
  panel.words = h("textarea", { id: "rerun-words", rows: 2, maxlength: 4000, spellcheck: "false" });
  panel.words.value = panel.unit.text;
  panel.button = h("button.primary", { type: "submit" }, "Ask again");
  const reset = h("button.quiet-button", { onclick: () => resetPanel(panel) }, "Reset");
  const copy = copyButton(() => variantToml(panel.engine, rerunState.changes), "Copy as a variant for assay.toml");
  const submit = (event) => {
    event.preventDefault();
    askAgain(panel);
  };
  return h("form.rerun-form", { onsubmit: submit }, [
    rerunEngineChoice(panel),
    h("label", { for: "rerun-words" }, "Query"),
    panel.words,
    panel.settings,
    h("div.rerun-actions", panel.button, reset, copy),
  ]);
}

/** Let one choose between builtin engines, where there are several. */
function rerunEngineChoice(panel) {
  const { engines } = panel.data.live;
  const choose = () => {
    panel.engine = engines[select.selectedIndex];
    rerunState.engine = panel.engine.name;
    drawSettings(panel);
  };
  const select = h("select", { id: "rerun-engine", onchange: choose }, [
    engines.map((one) => option(one.name, one.name, one === panel.engine)),
  ]);
  return engines.length > 1 ? [h("label", { for: "rerun-engine" }, "Engine"), select] : null;
}

/** Draw the settings that are changed, and the list of all of them. */
function drawSettings(panel) {
  const { settings } = panel.data.live;
  const open = panel.settings.querySelector("details")?.open ?? false;
  const add = (setting) => {
    if (!rerunState.changes.has(setting.name))
      rerunState.changes.set(setting.name, presentValue(panel.engine, setting));
    drawSettings(panel);
    panel.settings.querySelector(`[data-setting="${CSS.escape(setting.name)}"]`)?.focus();
  };
  const remove = (name) => {
    rerunState.changes.delete(name);
    drawSettings(panel);
    panel.settings.querySelector("summary").focus();
  };
  const present = (setting) => presentValue(panel.engine, setting);
  fill(
    panel.settings,
    changedRows(settings, rerunState.changes, present, remove),
    settingPicker(settings, rerunState.changes, present, add, open),
  );
}

/** Give what a setting has in the run. */
function presentValue(engine, setting) {
  return setting.name in engine.values ? engine.values[setting.name] : setting.default;
}

/** Take back every change. */
function resetPanel(panel) {
  rerunState.changes.clear();
  panel.words.value = panel.unit.text;
  fill(panel.result);
  drawSettings(panel);
}

/** Ask, and show what moved; an answer that comes after another question is dropped. */
async function askAgain(panel) {
  const { unit, engine } = panel;
  const own = panel.words.value.trim() === unit.text.trim();
  const question = own ? { query: unit.query.id, form: unit.form } : { text: panel.words.value };
  const asked = (panel.asked = {
    engine: engine.engine,
    gold: unit.gold,
    ...question,
    changes: Object.fromEntries(rerunState.changes),
  });
  panel.button.disabled = true;
  panel.settings.querySelector("details").open = false;
  const stop = showWaiting(panel.result);
  try {
    const answer = await askServer(engine.ask, asked);
    if (panel.asked === asked) fill(panel.result, movesPanel(answer, own ? unit.query : null, rerunState.changes.size));
  } catch (error) {
    if (panel.asked === asked) fill(panel.result, h("p.warning", { role: "alert" }, problemText(error)));
  } finally {
    stop();
    panel.button.disabled = false;
  }
}

/** Say that an answer is waited for, and how long already; gives what ends the count. */
function showWaiting(place) {
  const seconds = h("span", { "aria-hidden": "true" });
  const began = performance.now();
  fill(
    place,
    h("p.note", [
      "Asking… The first time, or after a change of the index, it is made first: " +
        "about a second for each megabyte of code. ",
      seconds,
    ]),
  );
  const timer = setInterval(() => (seconds.textContent = `${Math.round((performance.now() - began) / 1000)} s`), 1000);
  return () => clearInterval(timer);
}

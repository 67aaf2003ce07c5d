// The settings of the builtin engine: the changed ones with their fields, and the list to choose from.

import { fill, h, option, prose } from "../../common/dom.js";

/** Return the value of a setting in the run. */
export function settingValue(engine, setting) {
  return setting.name in engine.values ? engine.values[setting.name] : setting.default;
}

/** Draw a row for each changed setting: name, field, previous value, description. */
export function changedSettings(settings, engine, changes, remove) {
  if (!changes.size) return h("p.note", "No setting is changed: the query uses those of the run.");
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
export function settingPicker(settings, engine, changes, add, open) {
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
export function variantToml(engine, changes) {
  const pairs = [...changes].map(([name, value]) => `${JSON.stringify(name)} = ${JSON.stringify(value)}`);
  return `[variants.tried]\nengine = ${JSON.stringify(engine.engine)}\nset = { ${pairs.join(", ")} }\n`;
}

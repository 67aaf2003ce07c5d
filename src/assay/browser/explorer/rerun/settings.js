// The settings of the builtin: those that are changed, each with its help, and the list to choose from.

import { h, fill, option, prose } from "../../common/dom.js";

const SHOWN_SETTINGS = 200; // there are some ninety

/** Draw a row for each changed setting: its name, what it means, what it was, and a field. */
export function changedRows(settings, changes, present, remove) {
  if (!changes.size) return h("p.note", "No setting is changed: the query is asked with those of the run.");
  const rows = settings
    .filter((one) => changes.has(one.name))
    .map((setting) => changedRow(setting, changes, present(setting), () => remove(setting.name)));
  return h("ul.changed-settings", rows);
}

/** Draw one changed setting. */
function changedRow(setting, changes, was, remove) {
  const id = `setting-${setting.name}`;
  const field = settingField(setting, changes, id);
  return h("li", [
    h("label", { for: id }, h("code", shortName(setting))),
    field,
    h("span.note", `was ${valueText(was)}`),
    h("button.quiet-button", { "aria-label": `Leave ${setting.name} as it was`, onclick: remove }, "✕"),
    h("span.note.about", prose(aboutText(setting))),
  ]);
}

/** Make the field of a setting, by its type; it writes into the changes. */
function settingField(setting, changes, id) {
  const props = { id, dataset: { setting: setting.name } };
  const set = (value) => changes.set(setting.name, value);
  const value = changes.get(setting.name);
  if (setting.choices) return choiceField(setting.choices, value, props, set);
  if (setting.type === "true or false")
    return choiceField(["true", "false"], String(value), props, (text) => set(text === "true"));
  if (setting.type.startsWith("a list")) {
    const field = h("input", {
      ...props,
      type: "text",
      placeholder: "names, by commas",
      oninput: () =>
        set(
          field.value
            .split(",")
            .map((one) => one.trim())
            .filter(Boolean),
        ),
    });
    field.value = value.join(", ");
    return field;
  }
  const number = setting.type === "a number" || setting.type === "a whole number";
  const field = h("input", {
    ...props,
    type: number ? "number" : "text",
    step: setting.type === "a number" ? "any" : "1",
    required: number,
    oninput: () => set(number ? field.valueAsNumber : field.value),
  });
  field.value = value;
  return field;
}

/** Make a list to choose from. */
function choiceField(choices, value, props, set) {
  const field = h("select", { ...props, onchange: () => set(field.value) }, [
    choices.map((one) => option(one, one, one === value)),
  ]);
  return field;
}

/** Draw the list of all settings, narrowed by words, each with its value and help. */
export function settingPicker(settings, changes, present, add, open) {
  const list = h("ul.setting-list");
  const search = h("input", {
    type: "search",
    id: "rerun-search",
    placeholder: "name or meaning",
    autocomplete: "off",
    oninput: () => draw(),
  });
  const draw = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fitting = settings.filter(
      (one) => !changes.has(one.name) && words.every((word) => `${one.name} ${one.about}`.toLowerCase().includes(word)),
    );
    fill(
      list,
      fitting.length
        ? fitting.slice(0, SHOWN_SETTINGS).map((one) => settingLine(one, present(one), () => add(one)))
        : h("li.note", "No setting fits these words."),
    );
  };
  search.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
  draw();
  return h("details.setting-picker", { open }, [
    h("summary", `Change a setting (${settings.length})`),
    h("label", { for: "rerun-search" }, "Find"),
    search,
    list,
  ]);
}

/** Draw one setting of the list. */
function settingLine(setting, value, add) {
  return h("li", [
    h("button.setting-button", { onclick: add }, [
      h("code", shortName(setting)),
      h("span.value", valueText(value)),
      h("span.note", prose(aboutText(setting))),
    ]),
  ]);
}

/** Leave out of a name what nearly all of them begin with. */
function shortName(setting) {
  return setting.name.replace(/^search\./, "");
}

/** Say what a setting means, and what it costs to change it. */
function aboutText(setting) {
  return (
    setting.about + (setting.index ? " (makes a new index)" : "") + (setting.model ? " (here only on or off)" : "")
  );
}

/** Write a value as people read it. */
function valueText(value) {
  if (Array.isArray(value)) return value.length ? value.join(", ") : "none";
  return value === "" || value === null ? "empty" : String(value);
}

/** Write the changes as a variant of an experiment. */
export function variantToml(engine, changes) {
  const pairs = [...changes].map(([name, value]) => `${JSON.stringify(name)} = ${JSON.stringify(value)}`);
  return (
    ["[variants.tried]", `engine = ${JSON.stringify(engine.engine)}`, `set = { ${pairs.join(", ")} }`].join("\n") + "\n"
  );
}

// Who sits here?

import { fill, h } from "../common/dom.js";
import { troubleNote } from "./desk.js";

/** Ask for a name until there is one that the server takes. */
export function signIn(main, about, trouble, enter) {
  const field = h("input", { id: "reviewer", type: "text", autocomplete: "username", spellcheck: "false", autocapitalize: "off", maxlength: "64", required: true });
  field.value = trouble?.name ?? about.name;
  const said = h("div", { "aria-live": "polite" }, trouble ? troubleNote(trouble.error) : null);
  const form = h("form", { class: "card sign-in", onsubmit: async (event) => {
    event.preventDefault();
    try {
      await enter(field.value.trim());
    } catch (error) {
      fill(said, h("p", { class: "bad" }, `${error.message}. ${error.hint ?? ""}`));
      field.focus();
    }
  } },
    h("h1", null, `Review of ${about.set}`),
    h("p", { class: "soft" }, "Places are proposed as answers to queries. You say which of them are. Nobody sees what you say before the item is settled, and you do not see what others say."),
    h("label", { for: "reviewer" }, "Your name"),
    h("div", { class: "row" }, field, h("button", { type: "submit", class: "primary" }, "Begin")),
    said,
    h("p", { class: "note" }, "Your votes go into a file of your own beside the set, one line each: commit it, and git merges it with those of others. The code: ", h("span", { class: "mono" }, about.corpus), "."));
  fill(main, form);
  field.focus();
}

// Who sits here?

import { problemText } from "../common/client.js";
import { fill, h } from "../common/dom.js";
import { tell } from "./asking.js";
import { troubleNote } from "./frame.js";

const NAME_TAKEN = 423; // another browser has the name: the server says so by this status

/** Ask for a name until there is one that the server takes. */
export function signIn(main, about, trouble, enter) {
  const field = h("input", {
    id: "reviewer",
    type: "text",
    autocomplete: "username",
    spellcheck: "false",
    autocapitalize: "off",
    maxlength: "64",
    required: true,
  });
  field.value = trouble?.name ?? about.name;
  const said = h("div", { "aria-live": "polite" }, trouble ? troubleNote(trouble.error) : null);
  const begin = async () => {
    try {
      await enter(field.value.trim());
    } catch (error) {
      const problem = h("p.bad", problemText(error));
      fill(said, problem, error.status === NAME_TAKEN ? takeOver(field.value.trim(), begin) : null);
      field.focus();
    }
  };
  const form = h(
    "form.card.sign-in",
    {
      onsubmit: async (event) => {
        event.preventDefault();
        await begin();
      },
    },
    [
      h("h1", `Review of ${about.set}`),
      h("p.soft", [
        "Places are proposed as answers to queries. You say which of them are. " +
          "Nobody who still votes sees what you say, " +
          "and you do not see what others say until you have voted on everything. " +
          "Who adjudicates sees all votes, and votes no more.",
      ]),
      h("label", { for: "reviewer" }, "Your name"),
      h("div.row", field, h("button.primary", { type: "submit" }, "Begin")),
      said,
      h("p.note", [
        "Your votes go into a file of your own beside the set, one line each: " +
          "commit it, and git merges it with those of others. The code is in ",
        h("span.mono", about.corpus),
      ]),
    ],
  );
  fill(main, form);
  field.focus();
}

/** Let somebody have a name that another browser has: a code in the terminal of the server shows that they may. */
function takeOver(name, begin) {
  const box = h("div.take-over");
  const problem = h("p.bad", { role: "alert" });
  const attempt = (work) => work().catch((error) => fill(problem, problemText(error)));
  const code = h("input", { id: "take-over-code", type: "text", inputmode: "numeric", autocomplete: "one-time-code" });
  const send = async () => {
    await tell("take-over", { as: name, code: code.value });
    await begin();
  };
  code.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault(); // the form around it would begin under the name, which is taken
    attempt(send);
  });
  const askForCode = async () => {
    await tell("code", { as: name });
    fill(
      box,
      codeRow(code, () => attempt(send)),
      problem,
    );
    code.focus();
  };
  const button = h("button", { onclick: () => attempt(askForCode) }, "That is me: show a code there");
  return fill(box, button, problem);
}

/** Make the row that takes the code. */
function codeRow(code, send) {
  return [
    h("label", { for: "take-over-code" }, "The code that the terminal of the server shows"),
    h("div.row", code, h("button", { onclick: send }, "Take over")),
  ];
}

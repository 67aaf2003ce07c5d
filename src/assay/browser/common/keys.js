// Single keys as short cuts, what they do in the view that is shown, and the list of them behind `?`.

import { h, fill } from "./dom.js";

const pageKeys = []; // {keys: ["j"], label, run}: of the page
let viewKeys = []; // of the view that is shown
let keysAreOn = true; // some people's voice or switch software types letters: they can turn short cuts off

/** Listen to keys; `keys` hold in every view. */
export function listenToKeys(keys) {
  pageKeys.push(...keys, { keys: ["?"], label: "Show the keys", run: showKeyHelp });
  document.addEventListener("keydown", (event) => {
    if (!keysAreOn || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
    const found = [...viewKeys, ...pageKeys].find((one) => one.keys.includes(event.key));
    if (!found) return;
    event.preventDefault();
    found.run();
  });
}

/** Set the keys of the view that is shown now. */
export function setViewKeys(keys) {
  viewKeys = keys;
}

/** Show which keys there are. */
function showKeyHelp() {
  const close = h("button", { onclick: () => dialog.close() }, "Close");
  const dialog = h("dialog.dialog", { "aria-labelledby": "key-help" }, [
    h("h2", { id: "key-help" }, "Keys"),
    keyList(),
    keySwitch(),
    close,
  ]);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  close.focus();
}

/** Make the button that shows the keys. */
export function keyHelpButton() {
  return h("button.quiet-button.key-help", { "aria-label": "Show the keys", title: "Keys", onclick: showKeyHelp }, "?");
}

/** List the keys that hold now. */
function keyList() {
  const rows = [...viewKeys, ...pageKeys].map((one) => [
    h(
      "dt",
      one.keys.map((key, place) => [place ? " or " : null, h("kbd", key)]),
    ),
    h("dd", one.label),
  ]);
  return fill(h("dl.key-list"), rows, h("dt", h("kbd", "Tab")), h("dd", "Go to the next link, button or table"));
}

/** Let short cuts be turned off. */
function keySwitch() {
  const box = h("input", {
    type: "checkbox",
    checked: keysAreOn,
    onchange: () => {
      keysAreOn = box.checked;
    },
  });
  return h("p", h("label", box, " Single keys are short cuts"));
}

/** Tell whether somebody is typing a text or choosing from a list. */
function isTyping(element) {
  return (
    element.closest?.("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]") !== null
  );
}

// What every page has: data blocks, key shortcuts, a theme, and a clipboard.

import { fill, h, pairList } from "./dom.js";

// --- data blocks: gzip in base64 in inert script elements ----------------------------------------------------------

const unpackedBlocks = new Map();

export function hasBlock(name) {
  return document.getElementById(`data-${name}`) !== null;
}

/** Unpack a block, once; null if the page does not contain it. */
export function blockBytes(name) {
  if (!unpackedBlocks.has(name)) unpackedBlocks.set(name, unpackBlock(name));
  return unpackedBlocks.get(name);
}

/** Parse a block of JSON; null if the page does not contain it. */
export async function blockJson(name) {
  const bytes = await blockBytes(name);
  return bytes && JSON.parse(new TextDecoder().decode(bytes));
}

async function unpackBlock(name) {
  const element = document.getElementById(`data-${name}`);
  if (!element) return null;
  const stream = new Blob([fromBase64(element.textContent)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Decode base64, natively if the browser supports it. */
function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let index = 0; index < letters.length; index += 1) bytes[index] = letters.charCodeAt(index);
  return bytes;
}

// --- key shortcuts -------------------------------------------------------------------------------------------------

const TEXT_CONTROLS = "input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]";
const pageKeys = []; // {keys: ["j"], label, run}
let viewKeys = [];
let keysEnabled = true; // speech and switch software may type letters: users can turn shortcuts off

/** Listen to keys; `keys` work in every view. */
export function listenToKeys(keys) {
  pageKeys.push(...keys, { keys: ["?"], label: "Show the keys", run: showKeyHelp });
  document.addEventListener("keydown", (event) => {
    if (!keysEnabled || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.target.closest?.(TEXT_CONTROLS) || document.querySelector("dialog[open]")) return;
    const shortcut = [...viewKeys, ...pageKeys].find(({ keys: accepted }) => accepted.includes(event.key));
    if (!shortcut) return;
    event.preventDefault();
    shortcut.run();
  });
}

export function setViewKeys(keys) {
  viewKeys = keys;
}

export function keyHelpButton() {
  return h("button.quiet-button.key-help", { "aria-label": "Show the keys", title: "Keys", onclick: showKeyHelp }, "?");
}

function showKeyHelp() {
  const enabled = h("input", {
    type: "checkbox",
    checked: keysEnabled,
    onchange: () => (keysEnabled = enabled.checked),
  });
  const keyNames = (keys) => keys.map((key, index) => [index ? " or " : null, h("kbd", key)]);
  const rows = [...viewKeys, ...pageKeys].map(({ keys, label }) => [keyNames(keys), label]);
  const tab = [h("kbd", "Tab"), "Go to the next link, button or table"];
  openDialog({ "aria-labelledby": "key-help" }, [
    h("h2", { id: "key-help" }, "Keys"),
    pairList("dl.key-list", [...rows, tab]),
    h("p", h("label", enabled, " Single keys are shortcuts")),
  ]);
}

/** Open a modal dialog with a Close button, which has the focus. */
function openDialog(props, content) {
  const close = h("button", { onclick: () => dialog.close() }, "Close");
  const dialog = h("dialog.dialog", props, content, close);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  close.focus();
}

// --- theme: `theme=` in an address sets it -------------------------------------------------------------------------

const THEME_SIGNS = { auto: "◐", light: "○", dark: "●" };
const THEMES = Object.keys(THEME_SIGNS);

export function setTheme(name) {
  if (name === "auto" || !THEMES.includes(name)) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  for (const button of document.querySelectorAll(".theme-switch")) labelThemeSwitch(button);
}

export function currentTheme() {
  return document.documentElement.dataset.theme ?? "auto";
}

export function nextTheme() {
  setTheme(THEMES[(THEMES.indexOf(currentTheme()) + 1) % THEMES.length]);
}

/** Create the button that changes the theme, and calls `changed` after it. */
export function themeSwitch(changed = () => {}) {
  const press = () => {
    nextTheme();
    changed();
  };
  return labelThemeSwitch(
    h("button.quiet-button.theme-switch", { title: "Light, dark or system theme", onclick: press }),
  );
}

function labelThemeSwitch(button) {
  button.textContent = `${THEME_SIGNS[currentTheme()]} ${currentTheme()}`;
  button.setAttribute("aria-label", `Theme: ${currentTheme()}. Change`);
  return button;
}

// --- clipboard and announcements -----------------------------------------------------------------------------------

/** Create a button that copies the text returned by `make`; if the browser forbids it, show the text in a dialog. */
export function copyButton(make, label = "Copy as Markdown") {
  const copy = async () => {
    const text = make();
    try {
      await navigator.clipboard.writeText(text);
      announce("Copied as Markdown");
    } catch {
      const area = h("textarea", { rows: 16, cols: 80, readonly: true, "aria-label": "Text to copy" });
      area.value = text;
      openDialog({ "aria-label": "Copy by hand" }, [h("p", "Copy this text:"), area]);
      area.select();
    }
  };
  return h("button.quiet-button.copy", { onclick: copy }, label);
}

export function announcer() {
  return h("div", { id: "announcer", role: "status", "aria-live": "polite" });
}

/** Show a message for a moment, and to screen readers. */
export function announce(text) {
  const box = document.getElementById("announcer");
  if (!box) return;
  fill(box, text).classList.add("shown");
  clearTimeout(Number(box.dataset.timer));
  box.dataset.timer = String(setTimeout(() => box.classList.remove("shown"), 1800));
}

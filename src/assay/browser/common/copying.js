// Text for elsewhere: tables and pages as Markdown, on the clipboard.

import { h } from "./dom.js";

/** Copy a text and tell so; where the browser forbids it, show the text to be copied by hand. */
async function copyText(text, what = "Copied") {
  try {
    await navigator.clipboard.writeText(text);
    announce(what);
  } catch {
    showForCopying(text);
  }
}

/** Make a button that copies what `make` gives when it is pressed. */
export function copyButton(make, label = "Copy as Markdown") {
  return h("button.quiet-button.copy", { onclick: () => copyText(make(), "Copied as Markdown") }, label);
}

/** Write rows of texts as a Markdown table; `aligns` has "right" for columns of numbers. */
export function markdownTable(titles, aligns, rows) {
  const line = (cells) => `| ${cells.map(markdownCell).join(" | ")} |`;
  const rule = `|${aligns.map((align) => (align === "right" ? "---:" : "---")).join("|")}|`;
  return [line(titles), rule, ...rows.map(line)].join("\n") + "\n";
}

/** Make a text one that stands in a cell of a Markdown table and starts nothing. */
function markdownCell(text) {
  return markdownText(text).replace(/\|/g, "\\|");
}

/** Make a text one that Markdown shows as it is, on one line. */
export function markdownText(text) {
  return String(text)
    .replace(/\s+/g, " ")
    .trim()
    .replace(/[\\`*_<>[\]]/g, "\\$&");
}

/** Write a text as code in a line of Markdown: backticks in it need a longer fence. */
export function markdownCode(text) {
  const flat = String(text).replace(/\s+/g, " ");
  const fence = "`".repeat(1 + Math.max(0, ...(flat.match(/`+/g) ?? []).map((run) => run.length)));
  return fence.length > 1 ? `${fence} ${flat} ${fence}` : `\`${flat}\``;
}

/** Say something to everybody: for a moment on the screen, and to screen readers. */
export function announce(text) {
  const box = document.getElementById("announcer");
  if (!box) return;
  box.textContent = text;
  box.classList.add("shown");
  clearTimeout(Number(box.dataset.timer));
  box.dataset.timer = String(setTimeout(() => box.classList.remove("shown"), 1800));
}

/** Show a text in a dialog, selected, where the clipboard is closed to us. */
function showForCopying(text) {
  const area = h("textarea", { rows: 16, cols: 80, readonly: true, "aria-label": "Text to copy" });
  area.value = text;
  const done = h("button", { onclick: () => dialog.close() }, "Close");
  const dialog = h("dialog.dialog", { "aria-label": "Copy by hand" }, h("p", "Copy this text:"), area, done);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  area.select();
}

// Whole files on a page that `assay serve` made: the excerpt gives way to all lines, once somebody asks for them.

import { h } from "../../common/dom.js";
import { askServer, problemText } from "../../common/asking.js";

/** Let the whole file be shown in a box; one without an excerpt is loaded when it is unfolded. */
export function wholeFile(view, file, box, show) {
  const state = { loaded: false };
  const problem = h("p.note", { role: "status" });
  const load = async () => {
    if (state.loaded) return;
    state.loaded = true;
    try {
      const address = `${view.data.live.source}?${new URLSearchParams({ gold: view.unit.gold, path: file.path })}`;
      show(linesOfText((await askServer(address)).text));
      button.remove();
      problem.remove();
    } catch (error) {
      state.loaded = false;
      problem.textContent = problemText(error);
    }
  };
  const button = h("button.quiet-button.whole-file", { onclick: load }, "Show the whole file");
  if (!file.lines.length) box.addEventListener("toggle", () => box.open && load());
  box.append(button, problem);
}

/** Cut a text into numbered lines as the records do: only a newline ends one, and the last begins no other. */
function linesOfText(text) {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line, at) => ({ number: at + 1, text: line }));
}

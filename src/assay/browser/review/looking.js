// Looking elsewhere in the corpus: another file, or a definition of the one that is shown.

import { ask } from "./asking.js";
import { openChooser } from "./choosing.js";

const MOST_DEFINITIONS = 200; // that are listed at once: typing finds the others sooner than scrolling

/** Look for another file of the corpus; `choose(path)` is told of it. */
export function lookForFile(choose) {
  const find = async (text) => {
    const { paths, total } = await ask("paths", { find: text });
    const more = total > paths.length ? `and ${total - paths.length} more: type on` : `${total} files`;
    return { rows: paths.map((path) => ({ label: path, value: path })), more };
  };
  openChooser({ title: "Open a file of the corpus", find, choose });
}

/** Look for a definition of a file; `choose({name, start, end})` is told of it. */
export function lookForDefinition(path, choose) {
  const asked = ask("definitions", { path });
  const find = async (text) => {
    const { definitions } = await asked;
    const fitting = definitions.filter(([name]) => name.toLowerCase().includes(text.trim().toLowerCase()));
    const known = `${fitting.length} of ${definitions.length} definitions`;
    return {
      rows: fitting.slice(0, MOST_DEFINITIONS).map(definitionRow),
      more: definitions.length ? known : "Nothing is known to be defined here: pick lines",
    };
  };
  openChooser({ title: `Definitions of ${path}`, find, choose });
}

/** Make the row of a definition. */
function definitionRow([name, kind, start, end]) {
  const note = start === end ? `${kind}, line ${start}` : `${kind}, lines ${start}–${end}`;
  return { label: name, note, value: { name, start, end } };
}

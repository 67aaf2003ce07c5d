// The name of a place in a file, so that it is folded between its parts and never inside its line numbers.

import { h } from "../common/dom.js";
import { placeText } from "../common/format.js";

/** Show a place: its path, which may be folded behind each slash, and its lines. */
export function placeNodes(place) {
  const lines = placeText(place).slice(place.path.length);
  const parts = place.path.split(/(?<=\/)/).map((part, at) => [at ? h("wbr") : null, part]);
  return [parts, lines ? h("span.place-lines", lines) : null];
}

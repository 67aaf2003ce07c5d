// What is chosen in a section stands in the address behind it, so that a link shows what was looked at: a link to a
// section is all that is chosen in that one, and what it does not name is as at first. Other sections stay as they are.

import { fill, h, option } from "../../common/dom.js";
import { noteRoute, parseRoute, routeHref } from "../../common/route.js";

const choosersOf = new Map(); // section -> what sets each of its lists from an address
let choiceNumber = 0; // labels need names that no other choice has

/** Put choices above what they decide; `draw(state)` is called with each new state, and at first. */
export function chooser(section, state, choices, draw) {
  const first = { ...state };
  const place = h("div.chosen");
  const offered = choices.filter((one) => one.options.length > 1);
  const lists = offered.map((one) =>
    choice(one, state[one.key], (value) => {
      state[one.key] = value;
      noteChoices(section, state, first);
      fill(place, draw(state));
    }),
  );
  const restore = (params) => {
    offered.forEach((one, at) => {
      const known = one.options.some(([value]) => value === params[one.key]);
      state[one.key] = known ? params[one.key] : first[one.key];
      lists[at].querySelector("select").value = state[one.key];
    });
    fill(place, draw(state));
  };
  choosersOf.set(section, [...(choosersOf.get(section) ?? []), restore]);
  restore(paramsOf(section));
  return [lists.length > 0 && h("div.picks", lists), place];
}

/** Choose in a section what an address says. */
export function restoreChoices(section, params) {
  for (const restore of choosersOf.get(section) ?? []) restore(params);
}

/** Make a list to choose from: `options` is [value, label] pairs; `changed` is told the value. */
function choice({ label, options }, chosen, changed) {
  choiceNumber += 1;
  const id = `choice-${choiceNumber}`;
  const list = h("select", { id, onchange: () => changed(list.value) }, [
    options.map(([value, text]) => option(value, text, value === chosen)),
  ]);
  return h("span.pick", h("label", { for: id }, label), list);
}

/** Read what the address says of a section; nothing where it is about another one. */
function paramsOf(section) {
  const { parts, params } = parseRoute(location.hash);
  return parts[0] === "report" && parts[1] === section ? params : {};
}

/** Write into the address what is chosen otherwise than at first. */
function noteChoices(section, state, first) {
  const changed = Object.entries(state).filter(([key, value]) => value !== first[key]);
  const { theme } = parseRoute(location.hash).params;
  noteRoute(routeHref(["report", section], { ...Object.fromEntries(changed), theme }));
}

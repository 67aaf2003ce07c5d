// The queue as one reviewer sees it: what is done, what is open, where one is.

import { fill, h } from "../common/dom.js";
import { routeHref } from "../common/route.js";
import { VALUE_WORDS } from "./ballot.js";
import { isOpen } from "./session.js";

/** Make the list; `update(id)` draws it again with an item as the one that is shown. */
export function queueList(session) {
  const bar = h("progress", { "aria-label": "Voted" });
  const count = h("span", { class: "note" });
  const list = h("ol", { class: "queue" });
  const element = h("section", { class: "queue-box", "aria-label": "Queue" }, h("div", { class: "queue-head" }, h("h2", null, "Queue"), bar, count), list);

  /** Draw the list. */
  function update(id) {
    const done = session.items.filter((one) => !isOpen(session, one)).length;
    bar.max = Math.max(1, session.items.length);
    bar.value = done;
    fill(count, `${done} of ${session.items.length}`);
    fill(list, session.items.map((one, place) => h("li", null, queueLink(session, one, id, session.items[place - 1]?.headline === one.headline))));
    list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }

  return { element, update };
}

/** Make the line of one item of the queue. */
function queueLink(session, one, id, same) {
  const waits = session.outbox.waits(one.item);
  const refused = session.refusals.has(one.item);
  const sign = refused ? "!" : waits ? "…" : one.mine ? VALUE_WORDS[one.mine.value].key : "○";
  const words = refused ? "not saved" : waits ? "on its way" : one.mine ? `you said ${VALUE_WORDS[one.mine.value].word}` : "open";
  const tone = refused ? "refused" : one.mine && !waits ? "done" : "";
  return listLink({ href: routeHref(["item", one.item]), current: one.item === id, sign, words, tone, item: one, same });
}

/** Make a line of a list of items; what it asks is not said again below an item that asks the same. */
export function listLink({ href, current, sign, words, tone = "", item, same }) {
  return h("a", { href, "aria-current": current ? "true" : null, class: `${tone}${same ? " same" : ""}` },
    h("span", { class: "sign", "aria-label": words, role: "img" }, sign), h("span", { class: same ? "sr-only" : "asks" }, item.headline), h("span", { class: "anchor mono" }, item.anchor));
}

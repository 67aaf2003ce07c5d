// The queue as one reviewer sees it: what is done, what is open, where one is.

import { fill, h } from "../common/dom.js";
import { routeHref } from "../common/route.js";
import { isOpen } from "./session.js";

/** Make the list; `update(id)` draws it again with an item as the one that is shown. */
export function queueList(session) {
  const bar = h("progress", { "aria-label": "Voted" });
  const count = h("span.note");
  const list = h("ol.queue");
  const element = h("section.queue-box", { "aria-label": "Queue" }, [
    h("div.queue-head", h("h2", "Queue"), bar, count),
    list,
  ]);

  /** Draw the list. */
  function update(id) {
    const done = session.items.filter((one) => !isOpen(session, one)).length;
    bar.max = Math.max(1, session.items.length);
    bar.value = done;
    fill(count, `${done} of ${session.items.length}`);
    const top = list.scrollTop;
    fill(
      list,
      session.items.map((one, place) =>
        h("li", queueLink(session, one, id, session.items[place - 1]?.headline === one.headline)),
      ),
    );
    list.scrollTop = top;
    keepInSight(list);
  }
  // The question and the form come later than the list, and take its room: then the current item would be below it.
  new ResizeObserver(() => keepInSight(list)).observe(list);

  return { element, update };
}

/** Scroll the list, and nothing around it, until the current item is in its middle; one in sight stays where it is. */
function keepInSight(list) {
  const current = list.querySelector("[aria-current]");
  if (!current) return;
  const box = list.getBoundingClientRect();
  const line = current.getBoundingClientRect();
  if (line.top >= box.top && line.bottom <= box.bottom) return;
  list.scrollTop += line.top - box.top - (box.height - line.height) / 2;
}

/** Make the line of one item of the queue. */
function queueLink(session, one, id, same) {
  const state = queueState(session, one);
  return listLink({ href: routeHref(["item", one.item]), current: one.item === id, ...state, item: one, same });
}

/** Say by a sign, words and a colour how it stands with an item. */
function queueState(session, one) {
  if (session.refusals.has(one.item)) return { sign: "!", words: "not saved", tone: "refused" };
  if (session.outbox.waits(one.item)) return { sign: "…", words: "on its way" };
  if (!one.mine) return { sign: "○", words: "open" };
  const { mark, word, tone } = session.about.values[one.mine.value];
  return { sign: mark, words: `you said ${word}`, tone: `done said-${tone}` };
}

/** Make a line of a list of items; what it asks is not said again below an item that asks the same. */
export function listLink({ href, current, sign, words, tone = "", item, same }) {
  return h("a", { href, "aria-current": current ? "true" : null, class: `${tone}${same ? " same" : ""}` }, [
    h("span.sign", { "aria-label": words, role: "img" }, sign),
    h("span", { class: same ? "visually-hidden" : "asks" }, item.headline),
    h("span.anchor.mono", item.anchor),
  ]);
}

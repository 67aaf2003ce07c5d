// The queue of a reviewer, item by item: the query, the code, the vote.

import { fill, h } from "../common/dom.js";
import { setViewKeys } from "../common/page.js";
import { goTo, routeHref } from "../common/route.js";
import { ballotForm, ballotKeys, itemPage, refusalNote } from "./item.js";
import { isOpen, itemOf, nextOpen, refreshQueue, send } from "./session.js";

/** Show an item of the queue, or the first open one. */
export function reviewView(session, main, [id]) {
  if (!id || !itemOf(session, id)) return showFirst(session, main);
  const list = queueList(session);
  let form = null;
  const page = itemPage(session, {
    footer: list.element,
    onReword: (text) => {
      session.trail = [...session.trail.filter((other) => other !== id), id];
      send(session, "reword", { item: id, text });
      goToNextOpen(session, id);
    },
    below: (item) => {
      if (session.adjudicates) return adjudicatorNote();
      form = voteForm(session, item, () => goToNextOpen(session, id));
      setViewKeys(viewKeys());
      const { values } = session.about;
      return [
        refusalNote(session, item),
        item.mine &&
          h("p.note", "You voted ", h("strong", values[item.mine.value].word), ". A later vote replaces this one."),
        form.element,
      ];
    },
  });
  const viewKeys = () => [
    ...(form ? ballotKeys(form) : []),
    { keys: ["j"], label: "Next item", run: () => goToNeighbor(session, id, 1) },
    { keys: ["k"], label: "Previous item", run: () => goToNeighbor(session, id, -1) },
    { keys: ["n"], label: "Next open item", run: () => goToNextOpen(session, id) },
    lastVoteKey(session, id),
    ...page.keys,
  ];
  const listener = (message) => {
    list.update(id);
    if (message?.error && message.data.item === id) page.show(id);
  };
  session.listeners.add(listener);
  fill(main, page.element);
  list.update(id);
  setViewKeys(viewKeys());
  page.show(id);
  return () => {
    session.listeners.delete(listener);
    page.close();
  };
}

/** Go to the first open item, or explain that there is none. */
function showFirst(session, main) {
  const goToFirst = (options) => {
    const first = session.items.find((item) => isOpen(session, item));
    if (first) goTo(routeHref(["item", first.item]), options);
    return Boolean(first);
  };
  if (goToFirst({ replace: true })) return undefined;
  setViewKeys([lastVoteKey(session, null)]);
  const list = queueList(session);
  const listener = () => list.update(null);
  session.listeners.add(listener);
  const isEmpty = !session.items.length;
  const refresh = () => refreshQueue(session).then(() => goToFirst());
  fill(main, [
    h("div.done-box", [
      h("h1", isEmpty ? "The queue is empty" : "You have voted on everything"),
      isEmpty
        ? h("p", "Fill it with `assay gold mine` or `assay gold pool --queue`.")
        : h("p", "See the agreement of the reviewers, decide disputed items, or change a vote: select it below."),
      h("button", { onclick: refresh }, "Check for new items"),
      list.element,
    ]),
  ]);
  list.update(null);
  return () => session.listeners.delete(listener);
}

function adjudicatorNote() {
  const link = h("a", { href: routeHref(["adjudicate"]) }, "Decide disputed items");
  return h("p.adjudicator", "You have seen the votes of others and can no longer vote. ", link, ".");
}

function voteForm(session, item, saved) {
  const { mine, item: id } = item;
  return ballotForm({
    title: "Your vote",
    values: session.about.kinds[item.kind].values,
    meanings: session.about.values,
    draft: session.drafts.get(id) ?? mine,
    saveLabel: mine ? "Save again" : "Save",
    onChange: (draft) => session.drafts.put(id, draft),
    onSave: (vote) => {
      session.drafts.put(id, null);
      session.trail = [...session.trail.filter((other) => other !== id), id];
      send(session, "vote", { item: id, ...vote, engines: session.engines.has(id), after: mine?.on ?? null });
      saved();
    },
  });
}

function goToNextOpen(session, id) {
  const next = nextOpen(session, id);
  goTo(next ? routeHref(["item", next.item]) : routeHref([]));
}

function goToNeighbor(session, id, step) {
  const neighbor = session.items[session.items.findIndex(({ item }) => item === id) + step];
  if (neighbor) goTo(routeHref(["item", neighbor.item]));
}

/** Return the key that goes back to the item voted on last. */
function lastVoteKey(session, id) {
  const run = () => {
    const last = session.trail.filter((item) => item !== id).at(-1);
    session.trail = session.trail.filter((item) => item !== last);
    if (last) goTo(routeHref(["item", last]));
  };
  return { keys: ["z"], label: "Back to the last vote, to change it", run };
}

// --- the list of items ---------------------------------------------------------------------------------------------

/** Create the list: {element, update(id)}; `update` redraws it with the current item. */
function queueList(session) {
  const bar = h("progress", { "aria-label": "Voted" });
  const count = h("span.note");
  const list = h("ol.queue");
  const head = h("div.queue-head", h("h2", "Queue"), bar, count);
  const update = (id) => {
    const { items } = session;
    const done = items.filter((item) => !isOpen(session, item)).length;
    bar.max = Math.max(1, items.length);
    bar.value = done;
    fill(count, `${done} of ${items.length}`);
    const top = list.scrollTop;
    const links = items.map((item, index) =>
      itemLink({
        href: routeHref(["item", item.item]),
        isCurrent: item.item === id,
        ...voteState(session, item),
        item,
        isRepeated: items[index - 1]?.headline === item.headline,
      }),
    );
    fill(list, links);
    list.scrollTop = top;
    scrollToCurrent(list);
  };
  // The query and the form are drawn after the list and take its space, which may hide the current item.
  new ResizeObserver(() => scrollToCurrent(list)).observe(list);
  return { element: h("section.queue-box", { "aria-label": "Queue" }, head, list), update };
}

/** Scroll the list, and nothing around it, to its current item, unless that is in view. */
function scrollToCurrent(list) {
  const current = list.querySelector("[aria-current]");
  if (!current) return;
  const box = list.getBoundingClientRect();
  const line = current.getBoundingClientRect();
  if (line.top >= box.top && line.bottom <= box.bottom) return;
  list.scrollTop += line.top - box.top - (box.height - line.height) / 2;
}

function voteState(session, item) {
  if (session.refusals.has(item.item)) return { sign: "!", words: "not saved", tone: "refused" };
  if (session.outbox.isPending(item.item)) return { sign: "…", words: "not sent yet" };
  if (!item.mine) return { sign: "○", words: "open" };
  const { mark, word, tone } = session.about.values[item.mine.value];
  return { sign: mark, words: `you voted ${word}`, tone: `done voted-${tone}` };
}

/** Create the entry of an item; a query that repeats the one above is shown to screen readers only. */
export function itemLink({ href, isCurrent, sign, words, tone = "", item, isRepeated }) {
  const props = { href, "aria-current": isCurrent ? "true" : null, class: `${tone}${isRepeated ? " same" : ""}` };
  return h("li", [
    h("a", props, [
      h("span.sign", { "aria-label": words, role: "img" }, sign),
      h("span", { class: isRepeated ? "visually-hidden" : "item-headline" }, item.headline),
      h("span.anchor.mono", item.anchor),
    ]),
  ]);
}

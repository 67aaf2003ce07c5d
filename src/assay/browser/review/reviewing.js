// The queue, item by item: the question, the code, the vote.

import { fill, h } from "../common/dom.js";
import { setViewKeys } from "../common/page.js";
import { goTo, routeHref } from "../common/route.js";
import { ballotForm, valueKeys } from "./ballot.js";
import { queueList } from "./queue_list.js";
import { isOpen, itemOf, nextOpen, refreshQueue, say } from "./session.js";
import { workplace } from "./workplace.js";

/** Show an item of the queue, or the first that is open. */
export function reviewView(session, main, [id]) {
  if (!id || !itemOf(session, id)) return showFirst(session, main);
  const list = queueList(session);
  let form = null;
  const place = workplace(session, {
    last: list.element,
    below: (item) => {
      if (session.adjudicates) return adjudicatorNote();
      form = voteForm(session, item, () => goOn(session, id));
      setViewKeys(keysOf());
      return [pastNote(session, item), form.element];
    },
  });

  /** List what keys do now. */
  function keysOf() {
    return [
      ...(form ? valueKeys(form) : []),
      { keys: ["j"], label: "Next item", run: () => step(session, id, 1) },
      { keys: ["k"], label: "Item before", run: () => step(session, id, -1) },
      { keys: ["n"], label: "Next open item", run: () => goOn(session, id) },
      { keys: ["z"], label: "Back to the last vote, to change it", run: () => takeBack(session, id) },
      ...place.keys,
    ];
  }

  const listener = (message) => {
    list.update(id);
    if (message?.error && message.data.item === id) place.show(id);
  };
  session.listeners.add(listener);
  fill(main, place.element);
  list.update(id);
  setViewKeys(keysOf());
  place.show(id);
  return () => {
    session.listeners.delete(listener);
    place.close();
  };
}

/** Go to the first open item, or say that there is none. */
function showFirst(session, main) {
  const first = session.items.find((one) => isOpen(session, one));
  if (first) return void goTo(routeHref(["item", first.item]), { replace: true });
  setViewKeys([{ keys: ["z"], label: "Back to the last vote, to change it", run: () => takeBack(session, null) }]);
  const list = queueList(session);
  const listener = () => list.update(null);
  session.listeners.add(listener);
  const again = h("button", { onclick: () => refreshQueue(session).then(() => reviewAgain(session)) }, [
    "Look for new items",
  ]);
  fill(
    main,
    h("div.done-box", [
      h("h1", session.items.length ? "You have voted on everything" : "The queue is empty"),
      h("p", [
        session.items.length
          ? "See how far the reviewers agree, decide what is disputed, or change a vote: choose it below."
          : "Fill it with `assay gold mine` or `assay gold pool --queue`.",
      ]),
      again,
      list.element,
    ]),
  );
  list.update(null);
  return () => session.listeners.delete(listener);
}

/** Go to what is open now, if there is anything. */
function reviewAgain(session) {
  const first = session.items.find((one) => isOpen(session, one));
  if (first) goTo(routeHref(["item", first.item]));
}

/** Say to one who gave up voting what there is to do instead. */
function adjudicatorNote() {
  const link = h("a", { href: routeHref(["adjudicate"]) }, "Decide what is disputed");
  return h("p.adjudicator", "You gave up voting, and have seen what others said. ", link, ".");
}

/** Make the form of a vote. */
function voteForm(session, item, saved) {
  const mine = item.mine;
  const draft = session.drafts.get(item.item) ?? (mine && { value: mine.value, reason: mine.reason });
  return ballotForm({
    title: "Your vote",
    values: session.about.kinds[item.kind].values,
    meanings: session.about.values,
    draft,
    button: mine ? "Save anew" : "Save",
    changed: (now) => session.drafts.put(item.item, now),
    save: ({ value, reason }) => {
      session.drafts.put(item.item, null);
      session.trail = [...session.trail.filter((one) => one !== item.item), item.item];
      say(session, "vote", {
        item: item.item,
        value,
        reason,
        engines: session.engines.has(item.item),
        after: mine?.on ?? null,
      });
      saved();
    },
  });
}

/** Say what one voted before, and what the server would not take. */
function pastNote(session, item) {
  const refusal = session.refusals.get(item.item);
  return [
    refusal ? h("p.warning", { role: "alert" }, h("strong", "Not saved: "), refusal.message, ". ", refusal.hint) : null,
    item.mine
      ? h("p.note", [
          "You said ",
          h("strong", session.about.values[item.mine.value].word),
          ". A later vote takes its place.",
        ])
      : null,
  ];
}

/** Go to the next open item; the end is the list of all. */
function goOn(session, id) {
  const next = nextOpen(session, id);
  goTo(next ? routeHref(["item", next.item]) : routeHref([]));
}

/** Go to the neighbour of an item. */
function step(session, id, by) {
  const at = session.items.findIndex((one) => one.item === id) + by;
  if (session.items[at]) goTo(routeHref(["item", session.items[at].item]));
}

/** Go back to what was voted on last, before the item that is shown. */
function takeBack(session, id) {
  const last = session.trail.filter((one) => one !== id).at(-1);
  session.trail = session.trail.filter((one) => one !== last);
  if (last) goTo(routeHref(["item", last]));
}

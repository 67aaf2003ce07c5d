// Disputed items with all votes: a third person decides.

import { fill, h } from "../common/dom.js";
import { counted } from "../common/format.js";
import { setViewKeys } from "../common/page.js";
import { goTo, routeHref } from "../common/route.js";
import { ballotForm, ballotKeys, itemPage, refusalNote } from "./item.js";
import { itemLink } from "./queue.js";
import { send } from "./session.js";
import { unblindedView } from "./status.js";

/** Show the disputed items, one of them opened. */
export function adjudicationView(session, main, [id]) {
  let close = () => {};
  const leave = unblindedView(session, main, "disputed", (page, answer) => {
    const current = answer.items.find(({ item }) => item === id) ?? answer.items[0];
    if (current) close = openDispute(session, main, answer, current);
    else
      fill(page, [
        h("h1", "Nothing to decide"),
        h("p", answer.third ? summary(answer) : "There are no disagreements so far."),
      ]);
  });
  return () => {
    leave();
    close();
  };
}

function openDispute(session, main, { items, third }, current) {
  const index = items.indexOf(current);
  const goToItem = (item) => item && goTo(routeHref(["adjudicate", item.item]));
  const page = itemPage(session, {
    footer: disputeList(session, items, third, current),
    below: (item) => {
      const form = decisionForm(session, current);
      setViewKeys([
        ...ballotKeys(form),
        { keys: ["j"], label: "Next disputed item", run: () => goToItem(items[index + 1]) },
        { keys: ["k"], label: "Previous disputed item", run: () => goToItem(items[index - 1]) },
        ...page.keys,
      ]);
      return [refusalNote(session, item), voteTable(current.votes, session.about.values), form.element];
    },
  });
  const listener = (message) => {
    if (message?.what !== "decide" || message.data.item !== current.item) return;
    if (message.error) return page.show(current.item);
    const rest = items.filter((item) => item !== current);
    goToItem(rest[Math.min(index, rest.length - 1)] ?? { item: "done" });
  };
  session.listeners.add(listener);
  fill(main, page.element);
  page.show(current.item);
  return () => {
    session.listeners.delete(listener);
    page.close();
  };
}

function disputeList(session, items, third, current) {
  const links = items.map((item, index) => {
    const values = [...new Set(item.votes.map(({ value }) => value))].sort().reverse();
    const meanings = values.map((value) => session.about.values[value]);
    return itemLink({
      href: routeHref(["adjudicate", item.item]),
      isCurrent: item === current,
      sign: meanings.map(({ mark }) => mark).join("/"),
      words: meanings.map(({ word }) => word).join(" or "),
      item,
      isRepeated: items[index - 1]?.headline === item.headline,
    });
  });
  return h("section.queue-box", { "aria-label": "Disputed" }, [
    h("div.queue-head", h("h2", "Disputed"), h("span.note", summary({ items, third }))),
    h("ol.queue", links),
  ]);
}

function decisionForm(session, { item: id, values }) {
  const key = `decide ${id}`;
  return ballotForm({
    title: "Your decision",
    values,
    meanings: session.about.values,
    draft: session.drafts.get(key),
    saveLabel: "Decide",
    onChange: (draft) => session.drafts.put(key, draft),
    onSave: (decision) => {
      session.drafts.put(key, null);
      send(session, "decide", { item: id, ...decision });
    },
  });
}

function voteTable(votes, meanings) {
  const rows = votes.map(({ reviewer, reader, value, reason }) =>
    h("tr", [
      h("th", { scope: "row" }, reviewer, reader === "model" && " (model)"),
      h("td", h("span.badge.accent", meanings[value].word)),
      h("td", reason),
    ]),
  );
  return h("table.votes", { "aria-label": "Votes" }, h("tbody", rows));
}

function summary({ items, third }) {
  if (!third) return `${items.length} to decide`;
  return `${counted(third, "item")} you voted on ${third === 1 ? "is" : "are"} left to another adjudicator`;
}

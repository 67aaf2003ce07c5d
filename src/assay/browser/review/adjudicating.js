// What is disputed, with all votes in sight: a third person decides.

import { fill, h } from "../common/dom.js";
import { counted } from "../common/format.js";
import { setViewKeys } from "../common/page.js";
import { goTo, routeHref } from "../common/route.js";
import { ballotForm, valueKeys } from "./ballot.js";
import { behindCurtain } from "./curtain.js";
import { listLink } from "./queue_list.js";
import { say } from "./session.js";
import { workplace } from "./workplace.js";

/** Show the disputed items, one of them on the desk. */
export function adjudicationView(session, main, [id]) {
  let close = () => {};
  const leave = behindCurtain(session, main, "disputed", (page, answer) => {
    const chosen = answer.items.find((one) => one.item === id) ?? answer.items[0];
    if (chosen) close = disputeDesk(session, main, answer, chosen);
    else fill(page, nothingDisputed(answer));
  });
  return () => {
    leave();
    close();
  };
}

/** Put one disputed item on the desk. */
function disputeDesk(session, main, answer, chosen) {
  const list = h("section.queue-box", { "aria-label": "Disputed" }, [
    h("div.queue-head", h("h2", "Disputed"), h("span.note", thirdNote(answer))),
    h("ol.queue", [
      answer.items.map((one, place) =>
        h("li", disputeLink(session, one, one === chosen, answer.items[place - 1]?.headline === one.headline)),
      ),
    ]),
  ]);
  const at = answer.items.indexOf(chosen);
  const turnTo = (place) => answer.items[place] && goTo(routeHref(["adjudicate", answer.items[place].item]));
  const place = workplace(session, {
    last: list,
    below: (item) => {
      const form = decisionForm(session, item, chosen);
      setViewKeys([
        ...valueKeys(form),
        { keys: ["j"], label: "Next disputed item", run: () => turnTo(at + 1) },
        { keys: ["k"], label: "Item before", run: () => turnTo(at - 1) },
        ...place.keys,
      ]);
      return [refusedNote(session, item), voteTable(chosen.votes, session.about.values), form.element];
    },
  });
  const listener = (message) => {
    if (message?.what !== "decide" || message.data.item !== chosen.item) return;
    if (message.error) return place.show(chosen.item);
    const rest = answer.items.filter((one) => one !== chosen);
    const next = rest[Math.min(at, rest.length - 1)];
    goTo(routeHref(next ? ["adjudicate", next.item] : ["adjudicate", "done"]));
  };
  session.listeners.add(listener);
  fill(main, place.element);
  place.show(chosen.item);
  return () => {
    session.listeners.delete(listener);
    place.close();
  };
}

/** Make the line of a disputed item, with what was said of it. */
function disputeLink(session, one, current, same) {
  const said = [...new Set(one.votes.map((vote) => vote.value))].sort().reverse();
  const meanings = said.map((value) => session.about.values[value]);
  return listLink({
    href: routeHref(["adjudicate", one.item]),
    current,
    sign: meanings.map(({ mark }) => mark).join("/"),
    words: meanings.map(({ word }) => word).join(" or "),
    item: one,
    same,
  });
}

/** Make the form of a decision. */
function decisionForm(session, item, chosen) {
  const key = `decide ${item.item}`;
  return ballotForm({
    title: "Your decision",
    values: chosen.values,
    meanings: session.about.values,
    draft: session.drafts.get(key),
    button: "Decide",
    changed: (now) => session.drafts.put(key, now),
    save: ({ value, reason }) => {
      session.drafts.put(key, null);
      say(session, "decide", { item: item.item, value, reason });
    },
  });
}

/** Show what everybody said. */
function voteTable(votes, meanings) {
  return h("table.votes", { "aria-label": "Votes" }, [
    h("tbody", [
      votes.map((vote) =>
        h("tr", [
          h("th", { scope: "row" }, vote.reviewer, vote.reader === "model" ? " (model)" : null),
          h("td", h("span.badge.accent", meanings[vote.value].word)),
          h("td", vote.reason),
        ]),
      ),
    ]),
  ]);
}

/** Say what the server would not take. */
function refusedNote(session, item) {
  const refusal = session.refusals.get(item.item);
  return refusal
    ? h("p.warning", { role: "alert" }, h("strong", "Not saved: "), refusal.message, ". ", refusal.hint)
    : null;
}

/** Say that there is nothing to decide, or not for this person. */
function nothingDisputed(answer) {
  return [
    h("h1", "Nothing to decide"),
    h("p", answer.third ? thirdNote(answer) : "No two reviewers disagree on an item, as far as they have voted."),
  ];
}

/** Say what is left to others. */
function thirdNote(answer) {
  return answer.third
    ? `${counted(answer.third, "item")} you voted on ${answer.third === 1 ? "is" : "are"} left to a third person`
    : `${answer.items.length} to decide`;
}

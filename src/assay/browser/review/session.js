// One reviewer at one set: the queue as this reviewer sees it, drafts, the outbox, and who wants to know of changes.

import { announce } from "../common/page.js";
import { ask, tell } from "./asking.js";
import { openDrafts, openKept, openMemory } from "./memory.js";
import { openOutbox } from "./outbox.js";

/** Begin a session: takes the seat of that name, which the server may refuse, and asks for the queue. */
export async function beginSession(about, name) {
  const memory = openMemory(about.place);
  const kept = openKept(about.place, name);
  await tell("sit", { as: name });
  const answer = await ask("queue", { as: name });
  const session = {
    about,
    name,
    memory,
    items: answer.items,
    adjudicates: answer.adjudicates,
    drafts: openDrafts(kept),
    engines: new Set(memory.read(`engines ${name}`, [])), // items of which this reviewer saw the engines
    trail: [], // items voted on, the last one at the end
    refusals: new Map(), // what the server would not take, by item
    listeners: new Set(),
  };
  session.outbox = await openOutbox(kept, {
    heard: (message) => hear(session, message),
    changed: () => tellAll(session),
  });
  memory.write("name", name);
  return session;
}

/** Ask for the queue again: others may have proposed places. */
export async function refreshQueue(session) {
  const answer = await ask("queue", { as: session.name });
  session.items = answer.items;
  session.adjudicates = answer.adjudicates;
  tellAll(session);
}

/** Find an item of the queue; undefined where there is none. */
export function itemOf(session, id) {
  return session.items.find((one) => one.item === id);
}

/** Tell whether an item still needs this reviewer's vote. */
export function isOpen(session, item) {
  return !item.mine && !session.outbox.waits(item.item);
}

/** Give the first open item behind another, going round; null when all are done. */
export function nextOpen(session, id) {
  const at = session.items.findIndex((one) => one.item === id);
  const order = [...session.items.slice(at + 1), ...session.items.slice(0, at + 1)];
  return order.find((one) => isOpen(session, one) && one.item !== id) ?? null;
}

/** Say something of an item: kept in the browser at once, sent as soon as the server is there. */
export function say(session, what, data) {
  session.refusals.delete(data.item);
  session.outbox.add(what, { as: session.name, ...data });
}

/** Show the engines of an item from now on; the vote will say so. */
export function revealEngines(session, id) {
  session.engines.add(id);
  session.memory.write(`engines ${session.name}`, [...session.engines]);
}

/** Take in what the server answered, or would not take. */
function hear(session, message) {
  const { what, data, answer, error } = message;
  if (error) {
    session.refusals.set(data.item, error);
    if (!data.anchor) session.drafts.put(data.item, { value: data.value, reason: data.reason });
    announce(`Not saved: ${error.message}`);
  } else if (what === "place") {
    if (!itemOf(session, answer.item.item)) session.items.push(answer.item);
    Object.assign(itemOf(session, answer.item.item), answer.item);
    announce("The place is in the queue, with your vote");
  } else {
    Object.assign(itemOf(session, data.item) ?? {}, { mine: answer.mine });
  }
  tellAll(session, message);
}

/** Tell everybody who listens that something changed. */
function tellAll(session, message = null) {
  for (const listener of session.listeners ?? []) listener(message);
}

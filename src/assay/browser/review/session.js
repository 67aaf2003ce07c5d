// One reviewer at one set: requests, the queue, drafts, and the outbox of votes that the server has not saved yet.

import { askServer } from "../common/client.js";
import { h } from "../common/dom.js";
import { announce } from "../common/page.js";

// --- requests ------------------------------------------------------------------------------------------------------

const RETRY_DELAY = 1000; // milliseconds: finds a restarted server quickly without flooding it

export function get(name, params = {}) {
  return askServer(`/review/${name}?${new URLSearchParams(params)}`);
}

/** Send data; once this returns, the server has written it to disk. */
export function post(name, data) {
  return askServer(`/review/${name}`, data);
}

/** Retry a request until it succeeds, is refused, or is no longer wanted; `waiting(error)` is called before retries. */
export async function getPatiently(name, params, { wanted, waiting }) {
  for (;;) {
    try {
      return await get(name, params);
    } catch (error) {
      if (error.kind === "refused" || !wanted()) throw error;
      waiting(error);
      await retryDelay();
    }
  }
}

function retryDelay() {
  return new Promise((resolve) => setTimeout(resolve, RETRY_DELAY));
}

export function troubleNote(error) {
  const retries = "Retrying every second. Your input is kept in this browser.";
  return h("div.trouble-note", { role: "alert" }, [
    h("p", h("strong", error.message)),
    error.hint && h("p", error.hint),
    error.kind !== "refused" && h("p.note", retries),
  ]);
}

// --- session -------------------------------------------------------------------------------------------------------

/** Begin a session: reserve the name, which the server may refuse, and load the queue. */
export async function beginSession(about, name) {
  const tabStorage = openTabStorage(about.place);
  const storage = openReviewerStorage(about.place, name);
  await post("sit", { as: name });
  const answer = await get("queue", { as: name });
  const session = {
    about,
    name,
    tabStorage,
    items: answer.items,
    adjudicates: answer.adjudicates,
    drafts: { get: (id) => storage.read(`draft ${id}`, null), put: (id, draft) => storage.write(`draft ${id}`, draft) },
    engines: new Set(tabStorage.read(`engines ${name}`, [])), // items whose engines this reviewer has seen
    trail: [], // items voted on, the latest last
    refusals: new Map(), // errors of rejected messages by item
    listeners: new Set(),
  };
  const onAnswer = (message) => receive(session, message);
  session.outbox = await openOutbox(storage, onAnswer, () => notify(session));
  tabStorage.write("name", name);
  return session;
}

export async function refreshQueue(session) {
  const { items, adjudicates } = await get("queue", { as: session.name });
  Object.assign(session, { items, adjudicates });
  notify(session);
}

export function itemOf(session, id) {
  return session.items.find(({ item }) => item === id);
}

/** Return whether an item still needs this reviewer's vote. */
export function isOpen(session, item) {
  return !item.mine && !session.outbox.isPending(item.item);
}

/** Return the first open item after another, wrapping around; undefined if all are done. */
export function nextOpen(session, id) {
  const index = session.items.findIndex(({ item }) => item === id);
  const order = [...session.items.slice(index + 1), ...session.items.slice(0, index + 1)];
  return order.find((item) => isOpen(session, item) && item.item !== id);
}

/** Send a message about an item: stored in the browser at once, sent as soon as the server answers. */
export function send(session, kind, data) {
  session.refusals.delete(data.item);
  session.outbox.add(kind, { as: session.name, ...data });
}

/** Show the engines of an item from now on; its vote records this. */
export function revealEngines(session, id) {
  session.engines.add(id);
  session.tabStorage.write(`engines ${session.name}`, [...session.engines]);
}

/** Apply what the server answered to a message. */
function receive(session, message) {
  const { what, data, answer, error } = message;
  if (error) {
    session.refusals.set(data.item, error);
    if (!data.anchor && what !== "reword") session.drafts.put(data.item, { value: data.value, reason: data.reason });
    announce(`Not saved: ${error.message}`);
  } else if (what === "place") {
    if (!itemOf(session, answer.item.item)) session.items.push(answer.item);
    Object.assign(itemOf(session, answer.item.item), answer.item);
    announce("The target is in the queue, with your vote");
  } else {
    if (what === "reword" && !itemOf(session, answer.new.item)) {
      session.items.splice(session.items.indexOf(itemOf(session, data.item)) + 1, 0, answer.new);
      announce("The new query is saved and accepted");
    }
    Object.assign(itemOf(session, data.item) ?? {}, { mine: answer.mine });
  }
  notify(session, message);
}

function notify(session, message = null) {
  for (const listener of session.listeners) listener(message);
}

// --- storage: the name and the seen engines live in the tab, drafts and unsent votes in the browser ----------------

export function openTabStorage(place) {
  return openStorage(() => sessionStorage, `assay-review ${place} `);
}

/** Open what the browser stores for one reviewer of one set: it survives a crash, and other names do not see it. */
function openReviewerStorage(place, name) {
  return openStorage(() => localStorage, `assay-review ${JSON.stringify([place, name])} `);
}

/** Return {read, write, names} over keys with a prefix; a full or forbidden storage reads as empty. */
function openStorage(storage, prefix) {
  const attempt = (work, fallback) => {
    try {
      return work();
    } catch {
      return fallback;
    }
  };
  return {
    read: (name, fallback) => attempt(() => JSON.parse(storage().getItem(prefix + name)) ?? fallback, fallback),
    write: (name, value) =>
      attempt(() => {
        if (value === null) storage().removeItem(prefix + name);
        else storage().setItem(prefix + name, JSON.stringify(value));
      }),
    names: (start) =>
      attempt(() => {
        const keys = Object.keys(storage()).filter((key) => key.startsWith(prefix + start));
        return keys.map((key) => key.slice(prefix.length)).sort();
      }, []),
  };
}

// --- outbox --------------------------------------------------------------------------------------------------------
// Messages are sent in order, one at a time, until the server has saved them. It accepts the same vote twice, so
// a lost response does no harm. Each tab has its own box and a lock on it while it lives; another tab of the same
// reviewer sends what a closed or crashed tab left behind.

/** Open the outbox of a reviewer; `onAnswer` receives answers and refusals, `onChange` is called on every change. */
async function openOutbox(storage, onAnswer, onChange) {
  const ownName = `outbox ${crypto.randomUUID()}`;
  const pending = [];
  const save = () => {
    storage.write(ownName, pending.length ? pending : null);
    onChange();
  };
  const box = { pending, trouble: null, isSending: false, save, onAnswer, onChange };
  navigator.locks?.request(outboxLock(ownName), () => new Promise(() => {}));
  window.addEventListener("beforeunload", (event) => pending.length && event.preventDefault());
  for (const name of storage.names("outbox ")) await adoptOutbox(box, storage, name);
  return {
    add: (what, data) => addMessage(box, what, data),
    isPending: (id) => pending.some(({ data }) => data.item === id && !data.anchor),
    count: () => pending.length,
    trouble: () => box.trouble,
  };
}

function outboxLock(name) {
  return `assay-review ${name}`;
}

/** Take over the messages of another tab: now if it is gone, else as soon as it is. */
async function adoptOutbox(box, storage, name) {
  const adopt = (lock) => {
    if (!lock) return false;
    box.pending.push(...storage.read(name, []));
    box.save();
    storage.write(name, null);
    sendAll(box);
    return true;
  };
  if (!navigator.locks) adopt(true);
  else if (!(await navigator.locks.request(outboxLock(name), { ifAvailable: true }, adopt)))
    navigator.locks.request(outboxLock(name), adopt);
}

/** Add a message; it replaces one about the same item that was not sent yet. */
function addMessage(box, what, data) {
  const { pending } = box;
  const index = pending.findIndex(
    (message, place) =>
      (place > 0 || !box.isSending) && message.what === what && message.data.item === data.item && !data.anchor,
  );
  if (index >= 0) pending[index] = { what, data: { ...data, after: pending[index].data.after } };
  else pending.push({ what, data });
  box.save();
  sendAll(box);
}

async function sendAll(box) {
  if (box.isSending) return;
  box.isSending = true;
  while (box.pending.length) {
    const outcome = await sendFirst(box);
    if (outcome) box.pending.shift();
    box.save();
    if (outcome) box.onAnswer(outcome);
    else await retryDelay();
  }
  box.isSending = false;
  box.onChange();
}

/** Send the first message; return null if it must be retried. */
async function sendFirst(box) {
  const message = box.pending[0];
  try {
    const answer = await post(message.what, message.data);
    box.trouble = null;
    // A later vote on the same item follows the one just saved.
    for (const { data } of box.pending.slice(1))
      if (data.item === message.data.item && data.after === message.data.after) data.after = answer.mine?.on ?? null;
    return { ...message, answer };
  } catch (error) {
    if (error.kind === "refused") return { ...message, error };
    box.trouble = error;
    return null;
  }
}

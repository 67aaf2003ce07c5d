// What was said and is not on the server's disk yet. It is sent in order, one after the other, until it is there; the
// server takes the same vote twice for one, so that an answer that got lost costs nothing. Each tab has a box of its
// own, and a lock on it for as long as it lives; what a tab leaves behind, another one of the same reviewer sends.

import { pause, tell } from "./asking.js";

/** Open the outbox of one reviewer; `heard` is told of each answer and refusal, `changed` when anything changes. */
export async function openOutbox(kept, { heard, changed }) {
  const own = `outbox ${crypto.randomUUID()}`;
  const waiting = [];
  const keep = () => {
    kept.write(own, waiting.length ? waiting : null);
    changed();
  };
  const box = { waiting, trouble: null, sending: false, keep, heard, changed };
  navigator.locks?.request(lockOf(own), () => new Promise(() => {}));
  window.addEventListener("beforeunload", (event) => {
    if (waiting.length) event.preventDefault();
  });
  await takeInAll(box, kept);
  return {
    add: (what, data) => putIn(box, what, data),
    waits: (id) => waiting.some((one) => one.data.item === id && !one.data.anchor),
    count: () => waiting.length,
    trouble: () => box.trouble,
  };
}

/** Name the lock that a tab has on its box. */
function lockOf(box) {
  return `assay-review ${box}`;
}

/** Take in all that is left: at once what no tab has, the rest when its tab is gone. To send twice would be no harm. */
async function takeInAll(box, kept) {
  for (const left of kept.names("outbox ")) {
    const take = (lock) => lock && takeIn(box, kept, left);
    if (!navigator.locks) take(true);
    else if (!(await navigator.locks.request(lockOf(left), { ifAvailable: true }, take)))
      navigator.locks.request(lockOf(left), take);
  }
}

/** Take in what a tab left behind when it crashed or was closed. */
function takeIn(box, kept, left) {
  box.waiting.push(...kept.read(left, []));
  box.keep();
  kept.write(left, null);
  sendAll(box);
  return true;
}

/** Put a message in; one about the same item that was not tried yet is replaced by it. */
function putIn(box, what, data) {
  const { waiting } = box;
  const old = waiting.findIndex(
    (one, place) => (place > 0 || !box.sending) && one.what === what && one.data.item === data.item && !data.anchor,
  );
  if (old >= 0) waiting[old] = { what, data: { ...data, after: waiting[old].data.after } };
  else waiting.push({ what, data });
  box.keep();
  sendAll(box);
}

/** Send all there is; as long as the server is away, try again. */
async function sendAll(box) {
  if (box.sending) return;
  box.sending = true;
  while (box.waiting.length) {
    const done = await sendFirst(box);
    if (done) box.waiting.shift();
    box.keep();
    if (done) box.heard(done);
    else await pause();
  }
  box.sending = false;
  box.changed();
}

/** Send the first message; null when it must be tried again. */
async function sendFirst(box) {
  const message = box.waiting[0];
  try {
    const answer = await tell(message.what, message.data);
    box.trouble = null;
    followUp(box.waiting, message, answer);
    return { ...message, answer };
  } catch (error) {
    if (error.kind === "refused") return { ...message, error };
    box.trouble = error;
    return null;
  }
}

/** Let a later vote on the same item come after the one that was just taken. */
function followUp(waiting, message, answer) {
  for (const other of waiting.slice(1)) {
    if (other.data.item === message.data.item && other.data.after === message.data.after)
      other.data.after = answer.mine?.on ?? null;
  }
}

// What was said and is not on the server's disk yet. It is sent in order, one after the other, until it is there; the
// server takes the same vote twice for one, so that an answer that got lost costs nothing.

import { pause, tell } from "./asking.js";

/** Open the outbox of one reviewer; `heard` is told of each answer and refusal, `changed` when anything changes. */
export function openOutbox(memory, name, { heard, changed }) {
  const waiting = memory.read(`outbox ${name}`, []);
  const keep = () => {
    memory.write(`outbox ${name}`, waiting);
    changed();
  };
  const box = { waiting, trouble: null, sending: false, keep, heard, changed };
  window.addEventListener("beforeunload", (event) => {
    if (waiting.length) event.preventDefault();
  });
  sendAll(box);
  return {
    add: (what, data) => putIn(box, what, data),
    waits: (id) => waiting.some((one) => one.data.item === id && !one.data.anchor),
    count: () => waiting.length,
    trouble: () => box.trouble,
  };
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

// What was said and is not on the server's disk yet. It is sent in order, one after the other, until it is there; the
// server takes the same vote twice for one, so that an answer that got lost costs nothing.

import { pause, tell } from "./asking.js";

/** Open the outbox of one reviewer; `heard` is told of each answer and refusal, `changed` when anything changes. */
export function openOutbox(memory, name, { heard, changed }) {
  const waiting = memory.read(`outbox ${name}`, []);
  const state = { trouble: null, sending: false };
  const keep = () => {
    memory.write(`outbox ${name}`, waiting);
    changed();
  };

  /** Put a message in; one about the same item that was not tried yet is replaced by it. */
  function add(what, data) {
    const old = waiting.findIndex((one, place) => (place > 0 || !state.sending) && one.what === what && one.data.item === data.item && !data.anchor);
    if (old >= 0) waiting[old] = { what, data: { ...data, after: waiting[old].data.after } };
    else waiting.push({ what, data });
    keep();
    send();
  }

  /** Send all there is; as long as the server is away, try again every second. */
  async function send() {
    if (state.sending) return;
    state.sending = true;
    while (waiting.length) {
      const done = await attempt(waiting[0]);
      if (done) waiting.shift();
      keep();
      if (done) heard(done);
      else await pause(1000);
    }
    state.sending = false;
    changed();
  }

  /** Send one message; null when it must be tried again. */
  async function attempt(message) {
    try {
      const answer = await tell(message.what, message.data);
      state.trouble = null;
      followUp(message, answer);
      return { ...message, answer };
    } catch (error) {
      if (error.kind === "refused") return { ...message, error };
      state.trouble = error;
      return null;
    }
  }

  /** A later vote on the same item comes after the one that was just taken. */
  function followUp(message, answer) {
    for (const other of waiting.slice(1)) {
      if (other.data.item === message.data.item && other.data.after === message.data.after) other.data.after = answer.mine?.on ?? null;
    }
  }

  window.addEventListener("beforeunload", (event) => {
    if (waiting.length) event.preventDefault();
  });
  send();
  return { add, waits: (id) => waiting.some((one) => one.data.item === id && !one.data.anchor), count: () => waiting.length, trouble: () => state.trouble };
}

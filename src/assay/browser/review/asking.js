// What a review asks its server.

import { askServer } from "../common/client.js";

const AGAIN = 1000; // milliseconds between two attempts: a server that comes back is found at once, and never flooded

/** Ask for something. */
export function ask(what, params = {}) {
  return askServer(`/review/${what}?${new URLSearchParams(params)}`);
}

/** Tell something; when this returns, it is on the server's disk. */
export function tell(what, data) {
  return askServer(`/review/${what}`, data);
}

/** Ask until there is an answer, or nobody wants it any more; `waiting` is told why it takes so long. */
export async function askPatiently(what, params, { wanted, waiting }) {
  for (;;) {
    try {
      return await ask(what, params);
    } catch (error) {
      if (error.kind === "refused" || !wanted()) throw error;
      waiting(error);
      await pause();
    }
  }
}

/** Wait until it is time to try again. */
export function pause() {
  return new Promise((resolve) => setTimeout(resolve, AGAIN));
}

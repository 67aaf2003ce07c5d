// What the page asks its server, and what went wrong where it was not answered.

/** A request that failed; `kind` says what can be done: "away" and "stranger" are tried again, "refused" is not. */
export class AskError extends Error {
  constructor(kind, message, hint = "") {
    super(message);
    this.kind = kind;
    this.hint = hint;
  }
}

/** Ask for something. */
export function ask(what, params = {}) {
  return answered(`/review/${what}?${new URLSearchParams(params)}`, {});
}

/** Tell something; when this returns, it is on the server's disk. */
export function tell(what, data) {
  const body = JSON.stringify(data);
  return answered(`/review/${what}`, { method: "POST", headers: { "Content-Type": "application/json" }, body });
}

/** Ask until there is an answer, or nobody wants it any more; `waiting` is told why it takes so long. */
export async function askPatiently(what, params, { wanted, waiting }) {
  for (;;) {
    try {
      return await ask(what, params);
    } catch (error) {
      if (error.kind === "refused" || !wanted()) throw error;
      waiting(error);
      await pause(1000);
    }
  }
}

/** Wait. */
export function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Fetch an answer; what is none becomes an error with a sentence. */
async function answered(address, options) {
  let response;
  try {
    response = await fetch(address, { ...options, cache: "no-store", credentials: "same-origin" });
  } catch {
    throw new AskError("away", "The server does not answer.", "It may have been stopped: start it again at the same port.");
  }
  const value = await response.json().catch(() => null);
  if (response.ok && value) return value;
  const said = value?.error ?? `the server answered ${response.status}`;
  if (response.status === 403) {
    throw new AskError("stranger", "The server was started again.", "Open the address that it printed, in any tab: this page then goes on.");
  }
  throw new AskError(response.status >= 500 ? "away" : "refused", said, value?.hint ?? "");
}

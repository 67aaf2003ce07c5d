// Requests to the server, on pages that `assay` serves.

const OFFLINE_HINT = "If it has stopped, restart it on the same port.";

/** A failed request; only the kinds "offline" and "stranger" may be retried. */
class RequestError extends Error {
  constructor(kind, message, hint = "", status = 0) {
    super(message);
    this.kind = kind;
    this.status = status;
    this.hint = hint;
  }
}

/** GET a JSON value or, with a body, POST one; throw a RequestError with a message for the reader. */
export async function askServer(address, body = null) {
  const post = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let response;
  try {
    response = await fetch(address, { ...post, credentials: "same-origin", cache: "no-store" });
  } catch {
    throw new RequestError("offline", "The server does not answer.", OFFLINE_HINT);
  }
  const answer = await response.json().catch(() => null);
  const { status } = response;
  if (response.ok && answer) return answer;
  if (status === 403)
    throw new RequestError(
      "stranger",
      "The server was restarted.",
      "Open the address it printed in any tab; this page then continues.",
    );
  if (!answer) throw new RequestError("offline", "The server's response was cut off.", OFFLINE_HINT, status);
  throw new RequestError(status >= 500 ? "offline" : "refused", answer.error, answer.hint ?? "", status);
}

/** Return an error and its hint as one sentence. */
export function problemText(error) {
  const message = error.message.replace(/\.$/, "");
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.${error.hint ? ` → ${error.hint}` : ""}`;
}

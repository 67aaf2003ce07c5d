// Asking the server that a page came from, on pages that `assay` serves.

const AWAY_HINT = "Is it still running? Start it again at the same port.";

/** A question without an answer; one that is "away" or a "stranger" is asked again, what is "refused" is not. */
class AskError extends Error {
  constructor(kind, message, hint = "", status = 0) {
    super(message);
    this.kind = kind;
    this.status = status;
    this.hint = hint;
  }
}

/** Ask for something, or send an object to be answered; what is no answer is thrown with a sentence. */
export async function askServer(address, body = null) {
  const sent = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let response;
  try {
    response = await fetch(address, { ...sent, credentials: "same-origin", cache: "no-store" });
  } catch {
    throw new AskError("away", "The server does not answer.", AWAY_HINT);
  }
  const answer = await response.json().catch(() => null);
  if (response.ok && answer) return answer;
  throw refusalOf(response.status, answer);
}

/** Say in one text what was wrong and what to do next. */
export function problemText(error) {
  const said = error.message.replace(/\.$/, "");
  return `${said.charAt(0).toUpperCase()}${said.slice(1)}.${error.hint ? ` → ${error.hint}` : ""}`;
}

/** Make the error of an answer that is none; one that cannot be read was cut off, and nobody knows what it said. */
function refusalOf(status, answer) {
  if (status !== 403 && !answer) return new AskError("away", "The answer of the server broke off.", AWAY_HINT, status);
  if (status !== 403) return new AskError(status >= 500 ? "away" : "refused", answer.error, answer.hint ?? "", status);
  const hint = "Open the address that it printed, in any tab: this page then goes on.";
  return new AskError("stranger", "The server was started again.", hint);
}

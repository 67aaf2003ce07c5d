// Asking the server that a page came from, on pages that `assay` serves.

/** Ask for something, or send an object to be answered; what is refused is thrown with the server's own sentence. */
export async function askServer(address, body = null) {
  const sent = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let response;
  try {
    response = await fetch(address, { ...sent, credentials: "same-origin", cache: "no-store" });
  } catch {
    throw new Error("The server does not answer. Is `assay serve` still running?");
  }
  const answer = await response.json().catch(() => ({ error: "the answer cannot be read" }));
  if (!response.ok) throw new Error(sentence(answer));
  return answer;
}

/** Put what was wrong and what to do next into one text. */
function sentence(answer) {
  const said = String(answer.error ?? "it was refused").replace(/\.$/, "");
  return `${said.charAt(0).toUpperCase()}${said.slice(1)}.${answer.hint ? ` → ${answer.hint}` : ""}`;
}

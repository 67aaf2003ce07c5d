// Where the page is, in the part of its address behind `#`: a path of names and parameters. Links to it always work.

const scrollOfEntries = new Map(); // by the number of the history entry: how far it was scrolled when it was left
let entryNumber = 0;

/** Write an address: `routeHref(["query", "demo", "q1"], {a: "x"})`. Parameters without a value are left out. */
export function routeHref(parts, params = {}) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== null && value !== undefined && value !== "" && value !== false)
      search.set(name, value === true ? "1" : value);
  }
  const text = search.toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** Read an address: {parts, params}; what cannot be read is a place that is not there. */
export function parseRoute(hash) {
  const [path, search = ""] = splitOnce(hash.replace(/^#\/?/, ""), "?");
  const params = Object.fromEntries(new URLSearchParams(search));
  try {
    return { parts: path.split("/").filter(Boolean).map(decodeURIComponent), params };
  } catch {
    return { parts: ["?"], params };
  }
}

/** Go to an address; `replace` leaves no step behind for the back button. */
export function goTo(href, { replace = false } = {}) {
  if (href === location.hash) return;
  if (replace) location.replace(href);
  else location.assign(href);
}

/** Change the address without going anywhere, as the view shows it already; `step` leaves one for the back button. */
export function noteRoute(href, { step = false } = {}) {
  if (href === location.hash) return;
  if (!step) return history.replaceState(history.state, "", href);
  entryNumber = nextEntry();
  history.pushState({ entry: entryNumber }, "", href);
}

/** Call back with each place that the page comes to, and with how far it was scrolled when it was there before. */
export function followRoute(call) {
  history.scrollRestoration = "manual";
  const arrive = () => {
    const known = history.state?.entry;
    entryNumber = known ?? nextEntry();
    if (known === undefined) history.replaceState({ entry: entryNumber }, "");
    call(parseRoute(location.hash), scrollOfEntries.get(known) ?? null);
  };
  window.addEventListener("hashchange", arrive);
  window.addEventListener("scroll", () => scrollOfEntries.set(entryNumber, window.scrollY), { passive: true });
  arrive();
}

/** Count history entries; a page that is loaded again goes on from a number nobody has. */
function nextEntry() {
  return Date.now() + performance.now();
}

/** Cut a text at the first separator. */
function splitOnce(text, separator) {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}

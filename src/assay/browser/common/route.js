// The address of a view: a path of names and parameters behind `#`.

const scrollPositions = new Map(); // by history entry: how far it was scrolled
let entryId = 0;

/** Format an address: `routeHref(["query", "demo", "q1"], { a: "x" })`. Parameters without a value are left out. */
export function routeHref(parts, params = {}) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== null && value !== undefined && value !== "" && value !== false)
      search.set(name, value === true ? "1" : value);
  }
  const text = search.toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** Parse an address into {parts, params}; a malformed one becomes an unknown route. */
export function parseRoute(hash) {
  const [, path, search = ""] = /^#?\/?([^?]*)(?:\?([^]*))?$/.exec(hash);
  const params = Object.fromEntries(new URLSearchParams(search));
  try {
    return { parts: path.split("/").filter(Boolean).map(decodeURIComponent), params };
  } catch {
    return { parts: ["?"], params };
  }
}

/** Go to an address; `replace` adds no step to the history. */
export function goTo(href, { replace = false } = {}) {
  if (href === location.hash) return;
  if (replace) location.replace(href);
  else location.assign(href);
}

/** Change the address to that of the view already shown; `step` adds a step to the history. */
export function noteRoute(href, { step = false } = {}) {
  if (href === location.hash) return;
  if (!step) return history.replaceState(history.state, "", href);
  entryId = nextEntryId();
  history.pushState({ entry: entryId }, "", href);
}

/** Call `show(route, scrolled)` for each address; `scrolled` is the position of an earlier visit, or null. */
export function followRoute(show) {
  history.scrollRestoration = "manual";
  const arrive = () => {
    const known = history.state?.entry;
    entryId = known ?? nextEntryId();
    if (known === undefined) history.replaceState({ entry: entryId }, "");
    show(parseRoute(location.hash), scrollPositions.get(known) ?? null);
  };
  window.addEventListener("hashchange", arrive);
  window.addEventListener("scroll", () => scrollPositions.set(entryId, window.scrollY), { passive: true });
  arrive();
}

/** Return an id that is unique even after a reload. */
function nextEntryId() {
  return Date.now() + performance.now();
}

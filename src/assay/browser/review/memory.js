// What the tab keeps until the server has it: who sits here, reasons that are being written, votes on their way.
// It survives a reload and a crash of the page; it is gone with the tab, and no other tab sees it.

/** Open the memory of one set; each of its parts is read and written whole. */
export function openMemory(place) {
  const key = (name) => `assay-review ${place} ${name}`;
  return {
    read: (name, otherwise) => readKept(key(name), otherwise),
    write: (name, value) => writeKept(key(name), value),
  };
}

/** Read something; what cannot be read was never there. */
function readKept(key, otherwise) {
  try {
    return JSON.parse(sessionStorage.getItem(key)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** Write something; a browser that keeps nothing still reviews, only without a net. */
function writeKept(key, value) {
  try {
    sessionStorage.setItem(key, JSON.stringify(value));
  } catch {
    // full or forbidden
  }
}

/** Keep what is being written about each item, until it is sent. */
export function openDrafts(memory, name) {
  const kept = memory.read(`drafts ${name}`, {});
  const put = (id, draft) => {
    if (draft) kept[id] = draft;
    else delete kept[id];
    memory.write(`drafts ${name}`, kept);
  };
  return { get: (id) => kept[id] ?? null, put };
}

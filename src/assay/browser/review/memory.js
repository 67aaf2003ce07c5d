// What is kept until the server has it. The tab knows who sits here and which engines were seen: that survives a
// reload. Reasons that are being written and votes on their way are kept by the browser, for one set and one name: they
// survive a crash, are gone when they are saved, and nobody is shown them who sits here under another name.

/** Open the memory of one set in this tab; each of its parts is read and written whole. */
export function openMemory(place) {
  return memoryIn(() => sessionStorage, `assay-review ${place} `);
}

/** Open what the browser keeps for one reviewer of one set, in all tabs. */
export function openKept(place, name) {
  return memoryIn(() => localStorage, `assay-review ${JSON.stringify([place, name])} `);
}

/** Read and write what has a beginning of names for itself; a storage that is forbidden fails where it is asked for. */
function memoryIn(storage, beginning) {
  return {
    read: (name, otherwise) => readKept(storage, beginning + name, otherwise),
    write: (name, value) => writeKept(storage, beginning + name, value),
    names: (first) => namesKept(storage, beginning, first),
  };
}

/** Read something; what cannot be read was never there. */
function readKept(storage, key, otherwise) {
  try {
    return JSON.parse(storage().getItem(key)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** Write something, or remove it where there is nothing; a browser that keeps nothing still reviews, without a net. */
function writeKept(storage, key, value) {
  try {
    if (value === null) storage().removeItem(key);
    else storage().setItem(key, JSON.stringify(value));
  } catch {
    // full or forbidden
  }
}

/** Name what is kept and begins so. */
function namesKept(storage, beginning, first) {
  try {
    const all = Object.keys(storage()).filter((key) => key.startsWith(beginning + first));
    return all.map((key) => key.slice(beginning.length)).sort();
  } catch {
    return [];
  }
}

/** Keep what is being written about each item, until it is sent. */
export function openDrafts(kept) {
  return { get: (id) => kept.read(`draft ${id}`, null), put: (id, draft) => kept.write(`draft ${id}`, draft) };
}

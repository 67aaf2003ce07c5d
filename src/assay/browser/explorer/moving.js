// Which hit of one ranking is which of another: the rule of scoring/moving.py.

/**
 * Give for places of the second ranking the place of the same hit in the first, both from 0; each is taken once.
 * The same lines first, then those that share what the level counts: a line, or by file the file.
 */
export function matchHits(before, after, level) {
  const free = new Set(before.keys());
  const found = new Map();
  for (const same of [equalLines, level === "file" ? equalPaths : commonLines]) {
    after.forEach((hit, at) => {
      if (found.has(at)) return;
      const taken = [...free].find((old) => same(before[old], hit));
      if (taken === undefined) return;
      found.set(at, taken);
      free.delete(taken);
    });
  }
  return found;
}

/** Tell two hits in one file. */
function equalPaths(one, other) {
  return one.path === other.path;
}

/** Tell the same lines. */
function equalLines(one, other) {
  return equalPaths(one, other) && one.start === other.start && one.end === other.end;
}

/** Tell whether two places have a line in common; a whole file has all of them. */
export function commonLines(one, other) {
  return equalPaths(one, other) && (!one.start || !other.start || (one.start <= other.end && other.start <= one.end));
}

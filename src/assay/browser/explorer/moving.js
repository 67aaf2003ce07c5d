// Which hits count, and which hit of one ranking is which of another: the rules of scoring/match.py and moving.py.

/** Give the rank of each hit among distinct ones, as scores have it; null where it repeats one above. */
export function distinctRanks(hits, level) {
  const seen = new Set();
  return hits.map(({ path, start, end }) => {
    const key = level === "file" ? path : JSON.stringify([path, start, end]);
    if (seen.has(key)) return null;
    seen.add(key);
    return seen.size;
  });
}

/** Leave out the hits that repeat one above. */
export function distinctHits(hits, level) {
  const ranks = distinctRanks(hits, level);
  return hits.filter((hit, at) => ranks[at] !== null);
}

/** Give for ranks of the second ranking the rank of the same place in the first, both among distinct hits. */
export function matchDistinct(before, after, level) {
  const places = matchHits(distinctHits(before, level), distinctHits(after, level), level);
  return new Map([...places].map(([now, old]) => [now + 1, old + 1]));
}

/**
 * Give for places of the second ranking the place of the same hit in the first, both from 0; each is taken once.
 * The same lines first, then those that share what the level counts: a line, or by file the file.
 */
function matchHits(before, after, level) {
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

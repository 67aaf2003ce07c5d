// Which hits count, and which hits of two rankings are the same, by the rules of scoring/match.py.

/** Return each hit's rank among distinct hits, as measures count them; null for a repeated hit. */
export function distinctRanks(hits, level) {
  const known = new Set();
  return hits.map(({ path, start, end }) => {
    const key = level === "file" ? path : JSON.stringify([path, start, end]);
    if (known.has(key)) return null;
    known.add(key);
    return known.size;
  });
}

/** Return the hits without repeated ones. */
export function distinctHits(hits, level) {
  const ranks = distinctRanks(hits, level);
  return hits.filter((_, index) => ranks[index] !== null);
}

/**
 * Map ranks of the second ranking to the rank of the same hit in the first, both among distinct hits. Each hit is
 * matched once: equal lines first, then hits that share a line or, at file level, the file.
 */
export function matchDistinct(before, after, level) {
  const [old, current] = [distinctHits(before, level), distinctHits(after, level)];
  const free = new Set(old.keys());
  const matches = new Map();
  for (const isSame of [equalLines, level === "file" ? equalPaths : shareLines]) {
    current.forEach((hit, index) => {
      if (matches.has(index + 1)) return;
      const match = [...free].find((candidate) => isSame(old[candidate], hit));
      if (match === undefined) return;
      matches.set(index + 1, match + 1);
      free.delete(match);
    });
  }
  return matches;
}

function equalPaths(a, b) {
  return a.path === b.path;
}

function equalLines(a, b) {
  return equalPaths(a, b) && a.start === b.start && a.end === b.end;
}

/** Return whether two spans share a line; a span without lines is the whole file. */
export function shareLines(a, b) {
  return equalPaths(a, b) && (!a.start || !b.start || (a.start <= b.end && b.start <= a.end));
}

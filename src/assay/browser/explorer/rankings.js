// The rankings of all engines, read from columns; a ranking becomes an object only when somebody looks at it.

import { beginnings, readColumns } from "./packed_columns.js";

/** Read the block of rankings: {ranking(engine, unit), status(engine, unit)}. */
export function parseRankings(bytes) {
  const { head, columns } = readColumns(bytes);
  const table = { head, columns, placesOf: beginnings(columns.places), hitsOf: beginnings(columns.hits) };
  return {
    ranking: (engine, unit) => rankingAt(table, engine, unit),
    status: (engine, unit) => head.statuses[columns.status[unit * head.engines + engine]],
  };
}

/** Give one ranking: {status, seconds, error, hits}. */
function rankingAt(table, engine, unit) {
  const { head, columns, hitsOf } = table;
  const cell = unit * head.engines + engine;
  const error = columns.error[cell];
  const hits = [];
  for (let at = hitsOf[cell]; at < hitsOf[cell + 1]; at += 1) hits.push(hitAt(table, unit, at, hits.length + 1));
  return {
    status: head.statuses[columns.status[cell]],
    seconds: columns.seconds[cell],
    error: error ? head.errors[error - 1] : null,
    hits,
  };
}

/** Give one hit: {path, start, end, tokens, score, mark, rank}; null where something is not known. A rank is that of
 * distinct hits, as scores count them; only hits that have a mark have one. */
function hitAt({ head, columns, placesOf }, unit, at, position) {
  const place = placesOf[unit] + columns.hit[at];
  const start = columns.start[place] || null;
  const score = columns.score ? columns.score[at] : NaN;
  return {
    path: head.paths[columns.path[place]],
    start,
    end: start && start + columns.lines[place] - 1,
    tokens: columns.tokens[place] ? columns.tokens[place] - 1 : null,
    score: Number.isNaN(score) ? null : score,
    mark: markOf(columns.mark[at], head.adversaries),
    rank: columns.mark[at] ? position - columns.repeats[at] : null,
  };
}

/** Read a mark: {target}, {adversary} or null. */
function markOf(mark, adversaries) {
  if (!mark) return null;
  return mark >= adversaries ? { adversary: mark - adversaries } : { target: mark - 1 };
}

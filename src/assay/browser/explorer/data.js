// The data of a run. `summary`, `queries` and `values` are read at once, larger blocks when a view first needs them.

import { blockBytes, blockJson, hasBlock } from "../common/page.js";

/**
 * Read the run: {summary, results, engines, measures, primary, primaryMeasure, rankMeasure, level, units,
 * queries, golds, repositories, forms, value(), engineIndex(), findUnit(), baselineIndex, challengerIndex, headlines,
 * has(), load(), live}.
 *
 * A unit is one phrasing of a query, {index, query, gold, repository, form, headline, leak, text}, with names in place
 * of indices; a query is {index, gold, id, line, targets, adversaries, rationale, tags, measures, units: [indices]}.
 */
export async function loadData() {
  const [summary, block, bytes] = await Promise.all([blockJson("summary"), blockJson("queries"), blockBytes("values")]);
  const { results } = summary;
  const { measures, rank, level } = summary.values;
  const { primary, baseline } = results.comparison;
  const queries = block.queries.map((query, index) => {
    return { ...query, index, goldIndex: query.gold, gold: block.golds[query.gold], units: [] };
  });
  const units = block.units.map((unit, index) => {
    const query = queries[unit.q];
    query.units.push(index);
    const [form, repository] = [block.forms[unit.form], block.repositories[unit.repo]];
    return { ...unit, index, query, gold: query.gold, form, repository };
  });
  const names = results.engines.map((engine) => engine.name);
  return {
    summary,
    results,
    queries,
    units,
    measures,
    engines: results.engines.map((engine) => ({ ...engine, isBaseline: engine.name === baseline })),
    golds: block.golds,
    repositories: block.repositories,
    forms: block.forms,
    primary,
    primaryMeasure: measures.find(({ name }) => name === primary),
    rankMeasure: rank,
    level,
    headlines: units.filter((unit) => unit.headline),
    baselineIndex: Math.max(0, names.indexOf(baseline)),
    challengerIndex: Math.max(0, names.indexOf(results.challenger)),
    live: summary.live,
    engineIndex: (name) => names.indexOf(name),
    findUnit: (gold, id, form) =>
      units.find((unit) => unit.gold === gold && unit.query.id === id && unit.form === form),
    value: valueReader(bytes, measures, units.length),
    has: hasBlock,
    load: blockLoader(),
  };
}

/** Return whether an engine is a floor, a ceiling or an unnamed reference, and not the baseline. */
export function isReference(engine) {
  return engine !== undefined && engine.role !== "candidate" && !engine.isBaseline;
}

/** Return the reader of values by engine, measure and unit; NaN if a measure does not apply. */
function valueReader(bytes, measures, units) {
  const { buffer, byteOffset, byteLength } = bytes ?? new Uint8Array(0);
  const floats = new Float32Array(buffer.slice(byteOffset, byteOffset + byteLength)); // little-endian, at any offset
  const places = new Map(measures.map(({ name }, place) => [name, place]));
  return (engine, measure, unit) => {
    const place = places.get(measure);
    if (place === undefined) return NaN;
    const value = floats[(engine * measures.length + place) * units + unit];
    return Number.isInteger(value) ? value : Number(value.toPrecision(7)); // 0.6, not 0.60000002384
  };
}

/** Return the loader of large blocks: each is read once, null if the page does not contain it. */
function blockLoader() {
  const loading = new Map();
  const rankings = async () => {
    const bytes = await blockBytes("rankings");
    return bytes && parseRankings(bytes);
  };
  return (name) => {
    if (!loading.has(name)) loading.set(name, name === "rankings" ? rankings() : blockJson(name));
    return loading.get(name);
  };
}

/** Parse the rankings into {ranking(engine, unit), status(engine, unit)}; rankings become objects when requested. */
function parseRankings(bytes) {
  const { head, columns } = readColumns(bytes);
  const table = { head, columns, spanStarts: startsOf(columns.places), hitStarts: startsOf(columns.hits) };
  return {
    ranking: (engine, unit) => rankingAt(table, engine, unit),
    status: (engine, unit) => head.statuses[columns.status[unit * head.engines + engine]],
  };
}

/** Return one ranking: {status, seconds, error, hits}. */
function rankingAt(table, engine, unit) {
  const { head, columns, hitStarts } = table;
  const cell = unit * head.engines + engine;
  const error = columns.error[cell];
  const hits = [];
  for (let at = hitStarts[cell]; at < hitStarts[cell + 1]; at += 1) hits.push(hitAt(table, unit, at, hits.length + 1));
  return {
    status: head.statuses[columns.status[cell]],
    seconds: columns.seconds[cell],
    error: error ? head.errors[error - 1] : null,
    hits,
  };
}

/**
 * Return one hit: {path, start, end, tokens, score, mark, rank}; unknown values are null. A mark is {target} or
 * {adversary}; only marked hits have a rank, counted among distinct hits as measures do.
 */
function hitAt({ head, columns, spanStarts }, unit, at, position) {
  const span = spanStarts[unit] + columns.hit[at];
  const start = columns.start[span] || null;
  const score = columns.score ? columns.score[at] : NaN;
  const mark = columns.mark[at];
  return {
    path: head.paths[columns.path[span]],
    start,
    end: start && start + columns.lines[span] - 1,
    tokens: columns.tokens[span] ? columns.tokens[span] - 1 : null,
    score: Number.isNaN(score) ? null : score,
    mark: mark ? (mark >= head.adversaries ? { adversary: mark - head.adversaries } : { target: mark - 1 }) : null,
    rank: mark ? position - columns.repeats[at] : null,
  };
}

/** Parse a table written by report/explorer: {head, columns: {name: Uint32Array | Float32Array}}. */
function readColumns(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const columns = {};
  let at = 4 + length;
  for (const [name, kind, count, size] of head.columns) {
    const part = bytes.subarray(at, at + size);
    columns[name] = kind === "varint" ? readVarints(part, count) : readFloats(part, count);
    at += size;
  }
  return { head, columns };
}

/** Return where each part begins, given the lengths of all; one more at the end. */
function startsOf(counts) {
  const starts = new Uint32Array(counts.length + 1);
  for (let index = 0; index < counts.length; index += 1) starts[index + 1] = starts[index] + counts[index];
  return starts;
}

/** Read unsigned LEB128 numbers: seven bits per byte, lowest first. */
function readVarints(bytes, count) {
  const numbers = new Uint32Array(count);
  let at = 0;
  for (let index = 0; index < count; index += 1) {
    let value = 0;
    let scale = 1;
    for (; bytes[at] >= 128; at += 1, scale *= 128) value += (bytes[at] - 128) * scale;
    numbers[index] = value + bytes[at] * scale;
    at += 1;
  }
  return numbers;
}

/** Read floats stored byte plane by byte plane: all lowest bytes first. */
function readFloats(bytes, count) {
  const mixed = new Uint8Array(4 * count);
  for (let plane = 0; plane < 4; plane += 1) {
    for (let index = 0; index < count; index += 1) mixed[4 * index + plane] = bytes[plane * count + index];
  }
  return new Float32Array(mixed.buffer);
}

// Which adversary stood above every primary answer, read from the rankings.

const PRIMARY_GRADE = 2;

/** Find all displacements of headline queries: {byEngine: Map of lists, misled(row)}. */
export function displacements(data, rankings) {
  const byEngine = new Map();
  const counts = new Map();
  const units = data.headlines.filter(isTrapped);
  data.engines.forEach((facts, engine) => {
    const rows = units
      .map((unit) => displacementIn(rankings.ranking(engine, unit.index), unit, data.results.k))
      .filter(Boolean);
    for (const row of rows) counts.set(keyOf(row), (counts.get(keyOf(row)) ?? 0) + 1);
    if (rows.length) byEngine.set(facts.name, rows);
  });
  return { byEngine, misled: (row) => counts.get(keyOf(row)) };
}

/** Tell which adversary displaced the answer in a ranking: {unit, adversary, number, rank, answer}; null: none did. */
function displacementIn(ranking, unit, k) {
  const hits = ranking.hits.filter((hit) => hit.mark && hit.rank <= k);
  const answer = hits.find((hit) => isPrimary(unit, hit.mark))?.rank ?? null;
  const first = hits.find((hit) => hit.mark.adversary !== undefined);
  if (!first || (answer !== null && answer < first.rank)) return null;
  const number = first.mark.adversary;
  return { unit, number, adversary: unit.query.adversaries[number], rank: first.rank, answer };
}

/** Tell whether a unit has what the measure is about: an adversary and a primary answer. */
function isTrapped({ query }) {
  return query.adversaries.length > 0 && query.targets.some((target) => target.grade >= PRIMARY_GRADE);
}

/** Tell whether a mark is that of a primary answer. */
function isPrimary(unit, mark) {
  return mark.target !== undefined && unit.query.targets[mark.target].grade >= PRIMARY_GRADE;
}

/** Name a query with its adversary. */
function keyOf(row) {
  return `${row.unit.index}/${row.number}`;
}

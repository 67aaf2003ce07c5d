// Which adversary stood above every primary answer, read from the rankings.

const PRIMARY_GRADE = 2;

/** Find all displacements of headline queries: {byEngine: Map of lists, misled(row)}. */
export function displacements(data, rankings) {
  const byEngine = new Map();
  const counts = new Map();
  const units = data.unitsOfHeadline.map((index) => data.units[index]).filter((unit) => unit.query.adversaries.length);
  data.engines.forEach((facts, engine) => {
    const rows = units.map((unit) => displacementIn(rankings.ranking(engine, unit.index), unit, data.results.k)).filter(Boolean);
    for (const row of rows) counts.set(keyOf(row), (counts.get(keyOf(row)) ?? 0) + 1);
    if (rows.length) byEngine.set(facts.name, rows);
  });
  return { byEngine, misled: (row) => counts.get(keyOf(row)) };
}

/** Tell which adversary displaced the answer in one ranking: {unit, adversary, number, rank, answer}; null where none did. */
function displacementIn(ranking, unit, k) {
  const hits = ranking.hits.slice(0, k);
  const answer = hits.findIndex((hit) => hit.mark && hit.mark.target !== undefined && unit.query.targets[hit.mark.target].grade >= PRIMARY_GRADE);
  const first = hits.findIndex((hit) => hit.mark && hit.mark.adversary !== undefined);
  if (first < 0 || (answer >= 0 && answer < first)) return null;
  const number = hits[first].mark.adversary;
  return { unit, number, adversary: unit.query.adversaries[number], rank: first + 1, answer: answer < 0 ? null : answer + 1 };
}

/** Name a query with its adversary. */
function keyOf(row) {
  return `${row.unit.index}/${row.number}`;
}

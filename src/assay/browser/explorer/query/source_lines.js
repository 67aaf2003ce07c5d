// Which lines of which files a query's page shows, and what each of them is to the query.

import { distinctRanks } from "../moving.js";

/**
 * List the files that matter to a query: {path, roles: [{kind, path, start, end, …}], lines: [{number, text}]}.
 * One whose source is not in the page has no lines.
 */
export function sourceFiles(view) {
  const files = view.loaded.sources?.[view.unit.query.goldIndex] ?? {};
  const roles = rolesOf(view);
  const paths = [...new Set(roles.map((role) => role.path))];
  return paths.map((path) =>
    fileOf(
      path,
      roles.filter((role) => role.path === path),
      Object.hasOwn(files, path) ? files[path] : null,
      view.data.summary.excerpts,
    ),
  );
}

/** List what each place is to the query: answers first, then adversaries, then hits by rank. */
function rolesOf({ data, unit, engines, loaded }) {
  const { query } = unit;
  const hits = engines.flatMap((engine, column) => {
    const found = loaded.rankings?.ranking(engine, unit.index).hits ?? [];
    const ranks = distinctRanks(found, data.level);
    return found.map((hit, at) => ({ ...hit, kind: "hit", column, at, rank: ranks[at] }));
  });
  hits.sort((one, other) => one.at - other.at || one.column - other.column);
  return [
    ...query.targets.map((target) => ({ ...target, kind: "answer" })),
    ...query.adversaries.map((one) => ({ ...one, kind: "adversary" })),
    ...hits,
  ];
}

/** Put a file together; one without source has no lines. */
function fileOf(path, roles, excerpts, limits) {
  const known = (excerpts ?? []).flatMap(([start, text]) =>
    text.split("\n").map((line, at) => ({ number: start + at, text: line })),
  );
  return { path, roles, lines: known.filter((line) => roles.some((role) => isNear(line.number, role, known, limits))) };
}

/** Tell whether a line belongs to a place or is close to it; of a whole file or a long result its beginning is. */
function isNear(number, role, known, { around, lines }) {
  if (!role.start) return number <= known[0].number + 2 * around;
  if (role.kind === "hit" && role.end - role.start >= lines)
    return number >= role.start - around && number < role.start + 2 * around;
  return number >= role.start - around && number <= role.end + around;
}

/** Tell whether a role covers a line. */
export function covers(role, number) {
  return Boolean(role.start) && role.start <= number && number <= role.end;
}

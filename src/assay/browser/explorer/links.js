// Addresses of the views, for whoever links to them.

import { routeHref } from "../common/route.js";

/** The report, or one of its sections. */
export function reportHref(section = "") {
  return section ? routeHref(["report", section]) : "#/";
}

/** The list of queries; parameters are those of `list/filters.js`: search, form, gold, repo, a, b, outcome, … */
export function queriesHref(params = {}) {
  return routeHref(["queries"], params);
}

/** Write names as the value of one parameter: a comma in a name is none between two. */
export function namesParam(names) {
  return names.map(encodeURIComponent).join(",");
}

/** Read the names that `namesParam` wrote. */
export function namesOf(param) {
  return (param ?? "").split(",").filter(Boolean).map(decodedName);
}

/** Read one name; what nobody encoded is taken as it stands. */
function decodedName(name) {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** One query in one form: `queryHref(unit, {a: "mine", b: "other"})`. Filters in `params` decide what j and k go to. */
export function queryHref(unit, params = {}) {
  return routeHref(["query", unit.gold, unit.query.id, unit.form], params);
}

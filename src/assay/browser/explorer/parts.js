// Parts that several views share: addresses, names of spans, notes about omitted data.

import { h, prose } from "../common/dom.js";
import { spanText } from "../common/format.js";
import { routeHref } from "../common/route.js";

export function reportHref(section = "") {
  return section ? routeHref(["report", section]) : "#/";
}

/** Return the address of the list of queries; `list.js` describes the parameters. */
export function queriesHref(params = {}) {
  return routeHref(["queries"], params);
}

/** Return the address of one phrasing of a query; the filters in `params` decide where j and k lead. */
export function queryHref(unit, params = {}) {
  return routeHref(["query", unit.gold, unit.query.id, unit.form], params);
}

/** Join names into one parameter; commas inside names are encoded. */
export function namesParam(names) {
  return names.map(encodeURIComponent).join(",");
}

/** Split what `namesParam` joined; a name that is not encoded is taken literally. */
export function namesOf(param) {
  return (param ?? "")
    .split(",")
    .filter(Boolean)
    .map((name) => {
      try {
        return decodeURIComponent(name);
      } catch {
        return name;
      }
    });
}

/** Render a span so that its path wraps after slashes and its line numbers never do. */
export function spanNodes(span) {
  const lines = spanText(span).slice(span.path.length);
  const parts = span.path.split(/(?<=\/)/).map((part, index) => [index ? h("wbr") : null, part]);
  return [parts, lines ? h("span.place-lines", lines) : null];
}

const COMMAND = "`assay report ";
const RESTORE_HINTS = {
  rankings: "This file has no rankings: `assay report DIR` adds them.",
  sources: "This file has no source: `assay report DIR` adds it if the code is unchanged since the run.",
  traces: "This file has no traces: `assay report DIR --traces 40` reruns the builtin engine to add some.",
};

/** Render why a data block is not in the page and which command adds it. */
export function omissionNote(data, block, lead = "") {
  if (data.live && block === "traces")
    return h(
      "p.note",
      data.live.engines.length ? "Rerun the query below to see its trace." : "No engine in this run supports traces.",
    );
  const reasons = data.summary.left_out.filter((omission) => omission.block === block).map(({ text }) => text);
  const hasCommand = data.live || reasons.some((text) => text.includes(COMMAND));
  const text = [lead, ...reasons, hasCommand ? "" : RESTORE_HINTS[block]].filter(Boolean).join(" ");
  return h("p.note", prose(text), text.includes(`${COMMAND}DIR`) ? " DIR is the directory of the run." : null);
}

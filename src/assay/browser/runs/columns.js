// What the list says of a run, column by column.

import { h } from "../common/dom.js";
import { counted, fixed, isNumber, signed } from "../common/format.js";

const NAMED_ENGINES = 4; // as many as fit a line; the rest is counted, and named when pointed at

/** Make the columns of the list; `picks` knows which runs are picked. */
export function runColumns(picks) {
  return [
    {
      id: "pick",
      title: "Pick",
      fixed: true,
      value: () => null,
      text: () => "",
      cell: (run) => (run.error ? null : picks.box(run)),
    },
    { id: "name", title: "Run", head: true, value: (run) => run.name, cell: nameCell },
    { id: "suite", title: "Gold", value: (run) => run.suite ?? null, text: goldText, cell: goldCell },
    {
      id: "date",
      title: "Date",
      first: "descending",
      value: (run) => run.made || null,
      text: dateText,
      cell: (run) => h("span.nowrap", { title: `written ${run.changed} UTC` }, dateText(run)),
    },
    {
      id: "engines",
      title: "Engines",
      value: (run) => testedEngines(run).length || null,
      text: (run) => testedEngines(run).join(", "),
      cell: enginesCell,
    },
    {
      id: "best",
      title: "Best mean",
      align: "right",
      value: (run) => run.best?.mean ?? null,
      text: bestText,
      cell: bestCell,
    },
    {
      id: "verdict",
      title: "Verdict",
      value: (run) => run.verdict?.verdict ?? null,
      text: verdictText,
      cell: verdictCell,
    },
  ];
}

/** Name a run, with a way in unless it is broken. */
function nameCell(run) {
  if (run.error) return [h("span", run.name), h("div.phone-only.note", verdictCell(run))];
  const phone = h("div.phone-only.note", [
    h("div.clamped", `${goldText(run)} · ${dateText(run)}`),
    h("div", verdictCell(run)),
  ]);
  return [h("a", { href: `/run/${encodeURIComponent(run.id)}` }, run.name), phone];
}

/** Write when a run was made: to the minute, or the day where the record has no more. */
function dateText(run) {
  return run.when ?? "–";
}

/** Write what was asked. */
function goldText(run) {
  return run.error ? "–" : `${run.suite}, ${counted(run.queries, "query", "queries")}`;
}

/** Draw what was asked. */
function goldCell(run) {
  return run.error ? "–" : [run.suite, h("span.under.note", counted(run.queries, "query", "queries"))];
}

/** Name the engines that are under test; where none is known to be, all. */
function testedEngines(run) {
  const engines = run.engines ?? [];
  const tested = engines.filter((one) => one.role === "contestant");
  return (tested.length ? tested : engines).map((one) => one.name);
}

/** Name the first engines, and count the others. */
function enginesCell(run) {
  const names = testedEngines(run);
  const others = (run.engines ?? []).length - names.length;
  const shown = names.slice(0, NAMED_ENGINES).map((name) => h("span.chip", name));
  const more = names.length - shown.length;
  const rest = [more > 0 ? `${more} more` : null, others > 0 ? counted(others, "reference") : null]
    .filter(Boolean)
    .join(", ");
  return h("span.engine-names", { title: (run.engines ?? []).map((one) => one.name).join(", ") }, [
    shown,
    rest ? h("span.note", ` + ${rest}`) : null,
  ]);
}

/** Write the best mean with its interval. */
function bestText(run) {
  return run.best
    ? `${fixed(run.best.mean)} [${fixed(run.best.low)}, ${fixed(run.best.high)}] ${run.best.engine}`
    : "–";
}

/** Draw the best mean: the number, its interval, whose it is and of what. */
function bestCell(run) {
  if (!run.best) return "–";
  return [
    h("strong", fixed(run.best.mean)),
    " ",
    h("span.note", `[${fixed(run.best.low)}, ${fixed(run.best.high)}]`),
    h("span.under.note", `${run.primary} · ${run.best.engine}`),
  ];
}

/** Write the verdict on the best rival of the baseline. */
function verdictText(run) {
  const { verdict } = run;
  if (!verdict) return run.note ?? run.error ?? "–";
  const interval = isNumber(verdict.low) ? ` [${signed(verdict.low)}, ${signed(verdict.high)}]` : "";
  return `${verdict.engine} ${verdict.said} against ${verdict.baseline}: ${signed(verdict.difference)}${interval}`;
}

/** Draw the verdict. */
function verdictCell(run) {
  const { verdict } = run;
  if (run.error)
    return [h("span.badge.bad", "cannot be read"), h("span.under.note", run.error, run.hint ? ` → ${run.hint}` : "")];
  if (!verdict) return h("span.note", run.note ?? "one engine: nothing is compared");
  const interval = isNumber(verdict.low) ? ` [${signed(verdict.low)}, ${signed(verdict.high)}]` : "";
  return [
    h("span", { class: `badge ${verdict.tone}` }, verdict.said),
    " ",
    h("span.nowrap", signed(verdict.difference), h("span.note", interval)),
    h("span.under.note", `${verdict.engine} against ${verdict.baseline}`),
  ];
}

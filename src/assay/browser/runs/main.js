// The list of runs, newest first: a name opens a run, two selected runs are compared. Also the page that explains why a
// run cannot be shown.

import { askServer, problemText } from "../common/client.js";
import { fill, h } from "../common/dom.js";
import { counted, fixed, isNumber, signed } from "../common/format.js";
import { announcer, blockJson, hasBlock, themeSwitch } from "../common/page.js";
import { headColumn, numberColumn, table, textColumn } from "../common/table.js";

const SHOWN_ENGINES = 4; // that fit a line; the others are counted, and named in the tooltip

/** Open the list, and refresh it whenever the page becomes visible. */
async function openList() {
  const about = await blockJson("runs");
  const main = buildFrame(about.review);
  const list = h("div.runs-list", h("p.note", "Looking for runs…"));
  const places = h("p.note");
  const selection = createSelection();
  fill(main, h("h1", "Runs"), places, list, selection.bar);
  let shown = "";
  const refresh = async () => {
    try {
      const found = await askServer("/api/runs");
      if (JSON.stringify(found) === shown) return;
      shown = JSON.stringify(found);
      const { runs, directories } = found;
      const names = directories.map((name, index) => [index ? ", " : null, h("code", name)]);
      fill(places, counted(runs.length, "run"), " in and below ", names);
      selection.keep(runs);
      fill(list, runs.length ? runTable(runs, selection) : noRuns());
    } catch (error) {
      fill(list, h("p.warning", problemText(error)));
      shown = "";
    }
  };
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && refresh());
  await refresh();
}

async function openProblem() {
  const { message, hint } = await blockJson("problem");
  fill(buildFrame(), [
    h("h1", "Cannot show this view"),
    h("p.warning", { role: "alert" }, message.charAt(0).toUpperCase() + message.slice(1)),
    hint && h("p", "→ ", hint),
    h("p", h("a", { href: "/" }, "Back to all runs")),
  ]);
}

function buildFrame(review = false) {
  const main = h("main.runs-main", { id: "content", tabindex: "-1" });
  const bar = h("header.topbar", [
    h("a.brand", { href: "/" }, h("strong", "Assay"), h("span.suite", "runs")),
    h("span.spacer"),
    review && h("a", { href: "/review" }, "Review gold"),
    themeSwitch(),
  ]);
  fill(document.getElementById("app"), bar, main, announcer());
  return main;
}

function runTable(runs, selection) {
  return table({
    caption: "Runs, newest first",
    columns: runColumns(selection),
    rows: runs,
    rowProps: (run) => ({ class: run.error ? "broken" : null, dataset: { run: run.id } }),
    tools: [h("span.note", "Click a run to open it, or select two to compare.")],
  });
}

function noRuns() {
  return h("div.card", [
    h("p", "There are no runs yet."),
    h("p", [
      ["Create one with ", h("code", "assay run --out results"), ", or name another directory: "],
      [h("code", "assay serve DIR"), ". This page refreshes when you come back to it."],
    ]),
  ]);
}

function runColumns(selection) {
  return [
    textColumn("pick", "Select", () => null, {
      fixed: true,
      text: () => "",
      cell: (run) => (run.error ? null : selection.checkbox(run)),
    }),
    headColumn("name", "Run", (run) => run.name, { cell: nameCell }),
    textColumn("suite", "Gold", (run) => run.suite ?? null, {
      text: goldText,
      cell: (run) => (run.error ? "–" : [run.suite, h("span.under.note", counted(run.queries, "query", "queries"))]),
    }),
    textColumn("date", "Date", (run) => run.made || null, {
      first: "descending",
      text: dateText,
      cell: (run) => h("span.nowrap", { title: `written ${run.changed} UTC` }, dateText(run)),
    }),
    textColumn("engines", "Engines", (run) => testedEngines(run).length || null, {
      text: (run) => testedEngines(run).join(", "),
      cell: enginesCell,
    }),
    numberColumn("best", "Best mean", (run) => run.best?.mean ?? null, null, { text: bestText, cell: bestCell }),
    textColumn("verdict", "Verdict", (run) => run.decision?.outcome ?? null, { text: verdictText, cell: verdictCell }),
  ];
}

/** Render the name of a run, linked unless it is broken; on a phone with gold set, date and verdict. */
function nameCell(run) {
  if (run.error) return [h("span", run.name), h("div.phone-only.note", verdictCell(run))];
  return [
    h("a", { href: `/run/${encodeURIComponent(run.id)}` }, run.name),
    h("div.phone-only.note", [h("div.clamped", `${goldText(run)} · ${dateText(run)}`), h("div", verdictCell(run))]),
  ];
}

function dateText(run) {
  return run.when ?? "–";
}

function goldText(run) {
  return run.error ? "–" : `${run.suite}, ${counted(run.queries, "query", "queries")}`;
}

/** Return the names of the engines under test, or of all if none is. */
function testedEngines({ engines = [] }) {
  const tested = engines.filter(({ role }) => role === "candidate");
  return (tested.length ? tested : engines).map(({ name }) => name);
}

function enginesCell(run) {
  const names = testedEngines(run);
  const all = run.engines ?? [];
  const hidden = names.length - SHOWN_ENGINES;
  const references = all.length - names.length;
  const rest = [hidden > 0 && `${hidden} more`, references > 0 && counted(references, "reference")].filter(Boolean);
  return h("span.engine-names", { title: all.map(({ name }) => name).join(", ") }, [
    names.slice(0, SHOWN_ENGINES).map((name) => h("span.chip", name)),
    rest.length > 0 && h("span.note", ` + ${rest.join(", ")}`),
  ]);
}

function bestText({ best }) {
  return best ? `${fixed(best.mean)} ${intervalText(best, fixed)} ${best.engine}` : "–";
}

function bestCell({ best, primary }) {
  if (!best) return "–";
  return [
    h("strong", fixed(best.mean)),
    " ",
    h("span.note", intervalText(best, fixed)),
    h("span.under.note", `${primary} · ${best.engine}`),
  ];
}

function intervalText({ low, high }, format) {
  return isNumber(low) ? `[${format(low)}, ${format(high)}]` : "";
}

function verdictText({ decision, note, error }) {
  if (!decision?.baseline) return note ?? error ?? "–";
  const { candidate, outcome, baseline, difference } = decision;
  const change = isNumber(difference) ? `: ${signed(difference)} ${intervalText(decision, signed)}` : "";
  return `${candidate.name} ${outcome} against ${baseline.name}${change}`.trim();
}

const TONES = {
  better: "good",
  "slightly better": "good",
  "slightly worse": "bad",
  worse: "bad",
  failed: "bad",
  inconclusive: "warning",
  "identical rankings": "warning",
};

function verdictCell({ decision, note, error, hint }) {
  if (error) return [h("span.badge.bad", "unreadable"), h("span.under.note", error, hint ? ` → ${hint}` : "")];
  if (!decision?.baseline) return h("span.note", note ?? "one engine: no comparison");
  const { candidate, outcome, baseline, difference } = decision;
  return [
    h("span.badge", { class: TONES[outcome] ?? "plain" }, outcome),
    " ",
    isNumber(difference) && h("span.nowrap", signed(difference), h("span.note", ` ${intervalText(decision, signed)}`)),
    h("span.under.note", `${candidate.name} against ${baseline.name}`),
  ];
}

// --- selection: two runs to compare, the older one as the baseline -------------------------------------------------

/** Create the selection: {bar, checkbox(run), keep(runs)}. */
function createSelection() {
  let selected = [];
  let swapped = null; // key of the pair whose baseline is the newer run
  const boxes = new Map();
  const bar = h("div.pick-bar", { role: "region", "aria-label": "Compare two runs", hidden: true });
  const isSelected = ({ id }) => selected.some((run) => run.id === id);
  const draw = () => {
    for (const [id, box] of boxes) box.checked = isSelected({ id });
    bar.hidden = selected.length === 0;
    fill(bar, selected.length < 2 ? selected.map(singleNote) : pairNote());
  };
  const toggle = (run) => {
    // A third run replaces the first.
    selected = isSelected(run) ? selected.filter(({ id }) => id !== run.id) : [...selected, run].slice(-2);
    draw();
  };
  const singleNote = ({ name }) => h("p", h("strong", name), " is selected. Select a second run to compare the two.");
  const pairNote = () => {
    const key = selected
      .map(({ id }) => id)
      .sort()
      .join(" ");
    const older = (a, b) => a.made - b.made || a.written - b.written || (a.name < b.name ? -1 : 1);
    const ordered = [...selected].sort(older);
    const [baseline, other] = swapped === key ? ordered.reverse() : ordered;
    const swap = () => {
      swapped = swapped === key ? null : key;
      draw();
      bar.querySelector("button").focus();
    };
    const href = `/compare/${encodeURIComponent(baseline.id)}/${encodeURIComponent(other.id)}`;
    return [
      h("p", h("strong", other.name), " against ", h("strong", baseline.name), " as the baseline"),
      baseline.gold !== other.gold && h("p.note", "Their gold sets differ; only queries in both are compared."),
      h("div.pick-actions", h("button", { onclick: swap }, "Swap"), h("a.primary", { href }, "Compare")),
    ];
  };
  return {
    bar,
    checkbox: (run) => {
      const props = { type: "checkbox", "aria-label": `Select ${run.name} to compare`, onchange: () => toggle(run) };
      const box = h("input", props);
      box.checked = isSelected(run);
      boxes.set(run.id, box);
      return box;
    },
    keep: (runs) => {
      boxes.clear();
      const readable = new Set(runs.filter((run) => !run.error).map(({ id }) => id));
      selected = selected.filter(({ id }) => readable.has(id));
      draw();
    },
  };
}

await (hasBlock("problem") ? openProblem() : openList());
document.documentElement.dataset.ready = "true";

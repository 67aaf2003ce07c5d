// The page of a run: reads its data, builds the frame, and shows the view that the address names.

import { h, fill } from "../common/dom.js";
import { followRoute, goTo, noteRoute, parseRoute, routeHref } from "../common/route.js";
import { currentTheme, nextTheme, setTheme } from "../common/theme.js";
import { listenToKeys, setViewKeys } from "../common/keys.js";
import { loadData } from "./data.js";
import { buildFrame } from "./frame.js";
import { restoreChoices } from "./report/choices.js";
import { buildReport } from "./report/view.js";
import { queriesHref, reportHref } from "./links.js";
import { renderQueries } from "./list/view.js";
import { renderQuery } from "./query/view.js";

/** Open the page. */
async function openPage() {
  const data = await loadData();
  document.title = `${data.results.suite} · Assay`;
  const page = { data, report: null, frame: null, route: null, lastUnit: null };
  page.frame = buildFrame(data, keepTheme, () => showRoute(page, parseRoute(location.hash), null));
  listenToKeys(generalKeys());
  window.addEventListener("scroll", () => markSection(page), { passive: true });
  followRoute((route, scrolled) => showRoute(page, route, scrolled));
}

/** Leave word for who measures how long it took until the first view stood. */
function tellReady({ data }) {
  document.documentElement.dataset.ready = "true";
  window.assayReady ??= { milliseconds: performance.now(), engines: data.engines.length, units: data.units.length };
}

/** The keys that hold in every view. */
function generalKeys() {
  return [
    { keys: ["r"], label: "Go to the report", run: () => goTo(reportHref()) },
    { keys: ["l"], label: "Go to the list of queries", run: () => goTo(listHref()) },
    { keys: ["/"], label: "Search queries", run: focusSearch },
    {
      keys: ["t"],
      label: "Light, dark or automatic colours",
      run: () => {
        nextTheme();
        keepTheme();
      },
    },
  ];
}

/** Name the list that the page came from, else the whole one. */
function listHref() {
  const { parts, params } = parseRoute(location.hash);
  return queriesHref(parts[0] === "query" || parts[0] === "queries" ? { ...params, engines: null } : {});
}

/** Put the cursor into the search of the list, from wherever the page is. */
function focusSearch() {
  const search = document.getElementById("search");
  if (search) return search.focus();
  window.addEventListener("hashchange", () => setTimeout(() => document.getElementById("search")?.focus(), 0), {
    once: true,
  });
  goTo(listHref());
}

/** Keep the chosen colours in the address, so that they are there after a reload. */
function keepTheme() {
  const { parts, params } = parseRoute(location.hash);
  const theme = currentTheme() === "auto" ? null : currentTheme();
  noteRoute(routeHref(parts, { ...params, theme }));
}

/** Show the view of a route, scrolled as it was left if the page comes back to it. */
async function showRoute(page, route, scrolled) {
  const moved = page.route !== null && page.route.parts[0] !== route.parts[0];
  page.route = route;
  if (route.params.theme) setTheme(route.params.theme);
  else if (currentTheme() !== "auto") keepTheme();
  setViewKeys([]);
  const [view = "report", ...rest] = route.parts;
  const shown = await (VIEWS.get(view) ?? showNothing)(page, rest, route.params);
  tellReady(page);
  if (page.route !== route) return;
  if (moved || shown?.focus) (shown?.focus ?? page.frame.main).focus({ preventScroll: true });
  if (scrolled !== null) window.scrollTo(0, scrolled);
  else if (shown?.at) shown.at.scrollIntoView({ block: shown.block ?? "start" });
  else if (view !== "queries" || moved) window.scrollTo(0, 0);
  markSection(page);
}

const VIEWS = new Map([
  ["report", showReport],
  ["queries", showQueries],
  ["query", showQuery],
]);

/** Show the report, at a section if the address names one. */
function showReport(page, [section], params) {
  page.report ??= buildReport(page.data, () => page.frame.setSections(page.report?.sections() ?? []));
  page.frame.setSections(page.report.sections());
  if (page.report.node.parentNode !== page.frame.main) fill(page.frame.main, page.report.node);
  document.title = `${page.data.results.suite} · Assay`;
  const target = section ? page.report.reach(section) : null;
  if (target) restoreChoices(section, params);
  return target && { at: target, focus: target };
}

/** Show the list of queries, at the one that was looked at last. */
async function showQueries(page, rest, params) {
  page.frame.mark("queries");
  document.title = `Queries · ${page.data.results.suite} · Assay`;
  const link = await renderQueries(page.data, params, page.frame.main, page.lastUnit);
  page.lastUnit = null;
  return link && { at: link, focus: link, block: "center" };
}

/** Show one query. */
async function showQuery(page, [gold, id, form], params) {
  const index = page.data.unitIndex(gold, id, form);
  if (index < 0) return showNothing(page);
  page.frame.mark("queries");
  document.title = `${id} · ${page.data.results.suite} · Assay`;
  page.lastUnit = page.data.units[index];
  const drawn = renderQuery(page.data, page.lastUnit, params, page.frame.main);
  window.scrollTo(0, 0);
  await drawn;
  return { focus: page.frame.main };
}

/** Say that an address leads nowhere. */
function showNothing(page) {
  page.frame.mark("");
  fill(
    page.frame.main,
    h("h1", "Not here"),
    h("p", "This address names no view or query of this run."),
    h("p", [
      h("a", { href: reportHref() }, "Go to the report"),
      " or ",
      h("a", { href: queriesHref() }, "the list of queries"),
      ".",
    ]),
  );
}

/** Show in the navigation which section is read. */
function markSection(page) {
  const [view = "report"] = page.route?.parts ?? [];
  if (view === "report" && page.report) page.frame.mark("report", page.report.inSight());
}

openPage();

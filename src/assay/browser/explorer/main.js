// The page of a run: its frame, and the view that the address names.

import { fill, h } from "../common/dom.js";
import { grouped } from "../common/format.js";
import {
  announcer, currentTheme, keyHelpButton, listenToKeys, nextTheme, setTheme, setViewKeys, themeSwitch,
} from "../common/page.js";
import { followRoute, goTo, noteRoute, parseRoute, routeHref } from "../common/route.js";
import { loadData } from "./data.js";
import { renderQueries } from "./list.js";
import { queriesHref, reportHref } from "./parts.js";
import { renderQuery } from "./query/view.js";
import { restoreChoices } from "./report/parts.js";
import { buildReport } from "./report/view.js";

const VIEWS = new Map([
  ["report", showReport],
  ["queries", showQueries],
  ["query", showQuery],
]);

async function openPage() {
  const data = await loadData();
  const page = { data, report: null, frame: null, route: null, lastUnit: null };
  page.frame = buildFrame(data, () => showRoute(page, parseRoute(location.hash), null));
  listenToKeys([
    { keys: ["r"], label: "Go to the report", run: () => goTo(reportHref()) },
    { keys: ["l"], label: "Go to the list of queries", run: () => goTo(listHref()) },
    { keys: ["/"], label: "Search queries", run: focusSearch },
    { keys: ["t"], label: "Light, dark or system theme", run: () => (nextTheme(), noteTheme()) },
  ]);
  window.addEventListener("scroll", () => markSection(page), { passive: true });
  followRoute((route, scrolled) => showRoute(page, route, scrolled));
}

/** Show the view of a route, scrolled to where an earlier visit left it. */
async function showRoute(page, route, scrolled) {
  const moved = page.route !== null && page.route.parts[0] !== route.parts[0];
  page.route = route;
  if (route.params.theme) setTheme(route.params.theme);
  else if (currentTheme() !== "auto") noteTheme();
  setViewKeys([]);
  const [view = "report", ...rest] = route.parts;
  const shown = await (VIEWS.get(view) ?? showNotFound)(page, rest, route.params);
  const { engines, units } = page.data;
  document.documentElement.dataset.ready = "true";
  window.assayReady ??= { milliseconds: performance.now(), engines: engines.length, units: units.length };
  if (page.route !== route) return;
  if (moved || shown?.focus) (shown?.focus ?? page.frame.main).focus({ preventScroll: true });
  if (scrolled !== null) window.scrollTo(0, scrolled);
  else if (shown?.at) shown.at.scrollIntoView({ block: shown.block ?? "start" });
  else if (view !== "queries" || moved) window.scrollTo(0, 0);
  markSection(page);
}

/** Show the report, at a section if the address names one. */
function showReport(page, [section], params) {
  page.report ??= buildReport(page.data, () => page.frame.setSections(page.report?.sections() ?? []));
  page.frame.setSections(page.report.sections());
  if (page.report.node.parentNode !== page.frame.main) fill(page.frame.main, page.report.node);
  document.title = page.data.summary.decision.headline;
  const target = section ? page.report.reach(section) : null;
  if (target) restoreChoices(section, params);
  return target && { at: target, focus: target };
}

/** Show the list of queries, at the query visited last. */
async function showQueries(page, rest, params) {
  page.frame.mark("queries");
  document.title = `Queries · ${page.data.results.suite} · Assay`;
  const link = await renderQueries(page.data, params, page.frame.main, page.lastUnit);
  page.lastUnit = null;
  return link && { at: link, focus: link, block: "center" };
}

async function showQuery(page, [gold, id, form], params) {
  const unit = page.data.findUnit(gold, id, form);
  if (!unit) return showNotFound(page);
  page.frame.mark("queries");
  document.title = `${id} · ${page.data.results.suite} · Assay`;
  page.lastUnit = unit;
  const drawn = renderQuery(page.data, unit, params, page.frame.main);
  window.scrollTo(0, 0);
  await drawn;
  return { focus: page.frame.main };
}

function showNotFound(page) {
  const [report, queries] = [
    h("a", { href: reportHref() }, "Go to the report"),
    h("a", { href: queriesHref() }, "the list of queries"),
  ];
  page.frame.mark("");
  fill(page.frame.main, [
    h("h1", "Not found"),
    h("p", "This run has no such view or query."),
    h("p", report, " or ", queries, "."),
  ]);
}

/** Return the address of the list that the current view came from. */
function listHref() {
  const { parts, params } = parseRoute(location.hash);
  return queriesHref(parts[0] === "query" || parts[0] === "queries" ? { ...params, engines: null } : {});
}

function focusSearch() {
  const focus = () => document.getElementById("search")?.focus();
  if (document.getElementById("search")) return focus();
  window.addEventListener("hashchange", () => setTimeout(focus, 0), { once: true });
  goTo(listHref());
}

/** Write the theme into the address, so that it survives a reload. */
function noteTheme() {
  const { parts, params } = parseRoute(location.hash);
  noteRoute(routeHref(parts, { ...params, theme: currentTheme() === "auto" ? null : currentTheme() }));
}

/** Mark the section in view in the navigation. */
function markSection(page) {
  const [view = "report"] = page.route?.parts ?? [];
  if (view === "report" && page.report) page.frame.mark("report", page.report.inSight());
}

// --- frame: the bar on top, the navigation at the side (a menu on a phone), the place of the views -----------------

/** Build the frame: {main, setSections(list), mark(view, section)}; `again` is called for links to the current view. */
function buildFrame(data, again) {
  const main = h("main", { id: "content", tabindex: "-1" });
  const sections = h("ul.side-sections");
  const side = sideNavigation(data, sections);
  const menu = menuButton(side);
  const bar = h("header.topbar", [
    h("button.skip", { onclick: () => main.focus() }, "Skip to the content"),
    menu,
    h("a.brand", { href: "#/" }, h("strong", "Assay"), h("span.suite", data.results.suite)),
    h("span.spacer"),
    themeSwitch(noteTheme),
    keyHelpButton(),
  ]);
  fill(document.getElementById("app"), bar, h("div.layout", side, main), announcer());
  side.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (link) closeMenu(side, menu);
    if (link?.getAttribute("href") === location.hash) again();
  });
  const sectionLink = ({ id, title }) => h("li", h("a", { href: reportHref(id), dataset: { section: id } }, title));
  return {
    main,
    setSections: (list) => fill(sections, list.map(sectionLink)),
    mark: (view, section) => {
      for (const link of side.querySelectorAll("a")) {
        const isCurrent = section ? link.dataset.section === section : link.dataset.view === view;
        if (isCurrent) link.setAttribute("aria-current", section ? "location" : "page");
        else link.removeAttribute("aria-current");
      }
    },
  };
}

function sideNavigation(data, sections) {
  const count = h("span.count", grouped(data.queries.length));
  return h("nav.side", { id: "side", "aria-label": "Views" }, [
    h("ul", [
      data.live && h("li", h("a.home", { href: data.live.home }, "← All runs")),
      h("li", h("a", { href: reportHref(), dataset: { view: "report" } }, "Report"), sections),
      h("li", h("a", { href: queriesHref(), dataset: { view: "queries" } }, "Queries ", count)),
    ]),
  ]);
}

/** Create the button that opens the navigation if the screen is too narrow for it. */
function menuButton(side) {
  const toggle = () => {
    const open = side.classList.toggle("open");
    button.setAttribute("aria-expanded", String(open));
    if (open) side.querySelector("a").focus();
  };
  const props = { "aria-expanded": "false", "aria-controls": "side", onclick: toggle };
  const button = h("button.quiet-button.menu", props, "☰ Menu");
  side.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    closeMenu(side, button);
    button.focus();
  });
  return button;
}

function closeMenu(side, button) {
  side.classList.remove("open");
  button.setAttribute("aria-expanded", "false");
}

openPage();

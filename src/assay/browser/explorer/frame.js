// What stands around every view: the bar on top, the navigation at the side (a menu on a phone), the place for views.

import { h, fill } from "../common/dom.js";
import { themeSwitch } from "../common/theme.js";
import { keyHelpButton } from "../common/keys.js";
import { grouped } from "../common/format.js";
import { queriesHref, reportHref } from "./links.js";

/** Build the frame into the page: {main, setSections(), mark()}; `again` is told when a link to here is used. */
export function buildFrame(data, changedTheme, again) {
  const main = h("main", { id: "content", tabindex: "-1" });
  const sections = h("ul.side-sections");
  const side = sideViews(data, sections);
  const menu = menuButton(side);
  const announcer = h("div", { id: "announcer", role: "status", "aria-live": "polite" });
  const bar = topBar(data, main, menu, changedTheme);
  fill(document.getElementById("app"), bar, h("div.layout", side, main), announcer);
  side.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (link) closeMenu(side, menu);
    if (link?.getAttribute("href") === location.hash) again();
  });
  return {
    main,
    setSections: (list) => fill(sections, list.map(sectionLink)),
    mark: (view, section) => markPlace(side, view, section),
  };
}

/** List the views; the sections of the report stand below it. */
function sideViews(data, sections) {
  const many = h("span.count", grouped(data.queries.length));
  return h("nav.side", { id: "side", "aria-label": "Views" }, [
    h("ul", [
      data.live ? h("li", h("a.home", { href: data.live.home }, "← All runs")) : null,
      h("li", h("a", { href: reportHref(), dataset: { view: "report" } }, "Report"), sections),
      h("li", h("a", { href: queriesHref(), dataset: { view: "queries" } }, "Queries ", many)),
    ]),
  ]);
}

/** Link to a section of the report. */
function sectionLink({ id, title }) {
  return h("li", h("a", { href: reportHref(id), dataset: { section: id } }, title));
}

/** Make the bar on top. */
function topBar(data, main, menu, changedTheme) {
  return h("header.topbar", [
    h("button.skip", { onclick: () => main.focus() }, "Skip to the content"),
    menu,
    brand(data),
    h("span.spacer"),
    themeSwitch(changedTheme),
    keyHelpButton(),
  ]);
}

/** Name the product and what was measured. */
function brand(data) {
  return h("a.brand", { href: "#/" }, h("strong", "Assay"), h("span.suite", data.results.suite));
}

/** Make the button that opens the navigation where it does not fit beside the view. */
function menuButton(side) {
  const button = h(
    "button.quiet-button.menu",
    {
      "aria-expanded": "false",
      "aria-controls": "side",
      onclick: () => {
        const open = side.classList.toggle("open");
        button.setAttribute("aria-expanded", String(open));
        if (open) side.querySelector("a").focus();
      },
    },
    ["☰ Menu"],
  );
  side.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    closeMenu(side, button);
    button.focus();
  });
  return button;
}

/** Fold the menu of a phone. */
function closeMenu(side, button) {
  side.classList.remove("open");
  button.setAttribute("aria-expanded", "false");
}

/** Show in the navigation where the page is. */
function markPlace(side, view, section) {
  for (const link of side.querySelectorAll("a")) {
    const here = section ? link.dataset.section === section : link.dataset.view === view;
    if (here) link.setAttribute("aria-current", section ? "location" : "page");
    else link.removeAttribute("aria-current");
  }
}

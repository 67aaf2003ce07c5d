// What stands around every view of a review: the bar with the set, the views, what is on its way, and who sits here.

import { fill, h } from "../common/dom.js";
import { counted } from "../common/format.js";
import { keyHelpButton, themeSwitch } from "../common/page.js";
import { routeHref } from "../common/route.js";

const DESK_VIEWS = [
  ["item", "Review"],
  ["adjudicate", "Adjudicate"],
  ["agreement", "Agreement"],
  ["status", "Status"],
];

/** Build the frame: {main, enter(session), mark(view)}; `leave` is told when somebody else is to sit here. */
export function buildDesk(about, leave) {
  const main = h("main.desk", { id: "content", tabindex: "-1" });
  const links = h("nav.views", { "aria-label": "Views", hidden: true });
  const post = h("span.post", { role: "status" });
  const title = "Let somebody else sit here";
  const who = h("button.quiet-button.who", { hidden: true, title, onclick: leave });
  const announcer = h("div", { id: "announcer", role: "status", "aria-live": "polite" });
  fill(document.getElementById("app"), deskBar(about, main, { links, post, who }), main, announcer);
  return { main, enter: (session) => seat(session, { links, post, who }), mark: (view) => markView(links, view) };
}

/** Make the bar on top. */
function deskBar(about, main, { links, post, who }) {
  return h("header.topbar", [
    h("button.skip", { onclick: () => main.focus() }, "Skip to the content"),
    h("span.brand", h("strong", "Assay"), h("span.suite", about.set)),
    links,
    h("span.spacer"),
    post,
    who,
    themeSwitch(),
    keyHelpButton(),
  ]);
}

/** Show the views to who sits here now, and what is on its way. */
function seat(session, { links, post, who }) {
  const link = ([view, title]) => h("a", { href: routeHref(view === "item" ? [] : [view]), dataset: { view } }, title);
  fill(links, DESK_VIEWS.map(link));
  fill(who, h("span.wide-only", "as "), h("strong", session.name));
  links.hidden = false;
  who.hidden = false;
  const show = () => showPost(post, session);
  session.listeners.add(show);
  show();
}

/** Show which view is open. */
function markView(links, view) {
  for (const link of links.children) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** Say what is not on the server's disk yet, and why. */
function showPost(post, session) {
  const count = session.outbox?.count() ?? 0;
  const trouble = session.outbox?.trouble();
  post.classList.toggle("trouble", Boolean(count && trouble));
  if (!count) return fill(post, h("span.wide-only", "all saved"));
  if (!trouble) return fill(post, "saving…");
  post.title = trouble.hint;
  return fill(post, h("strong", `${counted(count, "vote")} kept here. `), h("span.wide-only", trouble.message));
}

/** Show why nothing is shown: the server is away, or would not answer. */
export function troubleNote(error) {
  const again =
    error.kind === "refused" ? null : h("p.note", "Trying again every second. What you wrote is kept in this browser.");
  return h("div.trouble-note", { role: "alert" }, [
    h("p", h("strong", error.message)),
    error.hint ? h("p", error.hint) : null,
    again,
  ]);
}

// The review of a gold set: sign in, then one of four views.

import { problemText } from "../common/client.js";
import { fill, h } from "../common/dom.js";
import { counted } from "../common/format.js";
import { announcer, blockJson, keyHelpButton, listenToKeys, setViewKeys, themeSwitch } from "../common/page.js";
import { followRoute, goTo, routeHref } from "../common/route.js";
import { adjudicationView } from "./adjudication.js";
import { reviewView } from "./queue.js";
import { beginSession, openTabStorage, post, troubleNote } from "./session.js";
import { agreementView, statusView } from "./status.js";

const VIEWS = { item: reviewView, adjudicate: adjudicationView, agreement: agreementView, status: statusView };
const VIEW_TITLES = { item: "Review", adjudicate: "Adjudicate", agreement: "Agreement", status: "Status" };
const NAME_TAKEN = 423; // HTTP status: another browser uses the name

async function startReview() {
  const about = await blockJson("review");
  const storage = openTabStorage(about.place);
  const frame = buildFrame(about, () => signOut(storage));
  const begin = async (name) => enter(frame, await beginSession(about, name));
  listenToKeys([]);
  const name = storage.read("name", null);
  try {
    if (name) return await begin(name);
  } catch (error) {
    if (error.kind === "refused") storage.write("name", null);
    return showSignIn(frame.main, about, { error, name }, begin);
  }
  return showSignIn(frame.main, about, null, begin);
}

function enter(frame, session) {
  frame.enter(session);
  let close = () => {};
  followRoute(({ parts, params }) => {
    const [view = "item", ...rest] = parts;
    close();
    setViewKeys([]);
    if (!Object.hasOwn(VIEWS, view)) return goTo(routeHref([]), { replace: true });
    frame.mark(view);
    close = VIEWS[view](session, fill(frame.main), rest, params) ?? (() => {});
  });
}

/** Free the name on the server, if it answers, and forget it in this tab. */
async function signOut(storage) {
  await post("leave", { as: storage.read("name", "") }).catch(() => null);
  storage.write("name", null);
  location.hash = "";
  location.reload();
}

// --- frame ---------------------------------------------------------------------------------------------------------

/** Build the frame: {main, enter(session), mark(view)}. */
function buildFrame(about, leave) {
  const main = h("main.review-main", { id: "content", tabindex: "-1" });
  const links = h("nav.views", { "aria-label": "Views", hidden: true });
  const outbox = h("span.outbox", { role: "status" });
  const reviewer = h("button.quiet-button.signed-in", { hidden: true, title: "Sign out", onclick: leave });
  const bar = h("header.topbar", [
    h("button.skip", { onclick: () => main.focus() }, "Skip to the content"),
    h("span.brand", h("strong", "Assay"), h("span.suite", about.set)),
    links,
    h("span.spacer"),
    outbox,
    reviewer,
    themeSwitch(),
    keyHelpButton(),
  ]);
  fill(document.getElementById("app"), bar, main, announcer());
  const enterSession = (session) => {
    const link = ([view, title]) =>
      h("a", { href: routeHref(view === "item" ? [] : [view]), dataset: { view } }, title);
    fill(links, Object.entries(VIEW_TITLES).map(link));
    fill(reviewer, h("span.wide-only", "as "), h("strong", session.name));
    links.hidden = false;
    reviewer.hidden = false;
    const show = () => showOutbox(outbox, session);
    session.listeners.add(show);
    show();
  };
  const mark = (view) => {
    for (const link of links.children) {
      if (link.dataset.view === view) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  };
  return { main, enter: enterSession, mark };
}

/** Show which votes the server has not saved yet, and why. */
function showOutbox(element, session) {
  const count = session.outbox?.count() ?? 0;
  const trouble = session.outbox?.trouble();
  element.classList.toggle("trouble", Boolean(count && trouble));
  if (!count) return fill(element, h("span.wide-only", "all saved"));
  if (!trouble) return fill(element, "saving…");
  element.title = trouble.hint;
  return fill(element, h("strong", `${counted(count, "vote")} not sent yet. `), h("span.wide-only", trouble.message));
}

// --- sign in -------------------------------------------------------------------------------------------------------

/** Ask for a name until the server accepts one. */
function showSignIn(main, about, trouble, enterAs) {
  const field = h("input", {
    id: "reviewer",
    type: "text",
    autocomplete: "username",
    spellcheck: "false",
    autocapitalize: "off",
    maxlength: "64",
    required: true,
  });
  field.value = trouble?.name ?? about.name;
  const message = h("div", { "aria-live": "polite" }, trouble && troubleNote(trouble.error));
  const begin = async () => {
    const name = field.value.trim();
    try {
      await enterAs(name);
    } catch (error) {
      fill(message, h("p.bad", problemText(error)), error.status === NAME_TAKEN && takeOver(name, begin));
      field.focus();
    }
  };
  const submit = (event) => {
    event.preventDefault();
    begin();
  };
  const form = h("form.card.sign-in", { onsubmit: submit }, [
    h("h1", `Review of ${about.set}`),
    h("p.soft", [
      "Vote on proposed targets of queries. Other reviewers do not see your votes until they finish; you see theirs ",
      "after you have voted on everything. Adjudicators see all votes and do not vote.",
    ]),
    h("label", { for: "reviewer" }, "Your name"),
    h("div.row", field, h("button.primary", { type: "submit" }, "Begin")),
    message,
    h("p.note", [
      "Your votes are saved in a file next to the set, one line per vote. Commit it; Git merges it with the files ",
      "of other reviewers. The code is in ",
      h("span.mono", about.corpus),
    ]),
  ]);
  fill(main, form);
  field.focus();
}

/** Take over a name that another browser uses: a code in the server's terminal proves the right to do so. */
function takeOver(name, begin) {
  const box = h("div.take-over");
  const problem = h("p.bad", { role: "alert" });
  const attempt = (work) => work().catch((error) => fill(problem, problemText(error)));
  const code = h("input", { id: "take-over-code", type: "text", inputmode: "numeric", autocomplete: "one-time-code" });
  const send = async () => {
    await post("take-over", { as: name, code: code.value });
    await begin();
  };
  const askForCode = async () => {
    await post("code", { as: name });
    fill(box, [
      h("label", { for: "take-over-code" }, "The code shown in the server's terminal"),
      h("div.row", code, h("button", { onclick: () => attempt(send) }, "Take over")),
      problem,
    ]);
    code.focus();
  };
  code.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault(); // the surrounding form would submit the name, which is taken
    attempt(send);
  });
  return fill(
    box,
    h("button", { onclick: () => attempt(askForCode) }, "This is my name: show a code in the terminal"),
    problem,
  );
}

startReview().catch((error) =>
  fill(document.getElementById("app"), h("main", h("h1", "This page failed"), h("p", String(error)))),
);

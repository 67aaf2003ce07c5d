// The review of a gold set: who sits here, then one of four views.

import { fill, h } from "../common/dom.js";
import { blockJson, listenToKeys, setViewKeys } from "../common/page.js";
import { followRoute, goTo, routeHref } from "../common/route.js";
import { adjudicationView } from "./adjudicating.js";
import { agreementView } from "./agreeing.js";
import { tell } from "./asking.js";
import { buildDesk } from "./frame.js";
import { openMemory } from "./memory.js";
import { reviewView } from "./reviewing.js";
import { beginSession } from "./session.js";
import { signIn } from "./signing.js";
import { standingView } from "./standing.js";

const REVIEW_VIEWS = { item: reviewView, adjudicate: adjudicationView, agreement: agreementView, status: standingView };

/** Start the page. */
async function startReview() {
  const about = await blockJson("review");
  const desk = buildDesk(about, () => leave(about));
  listenToKeys([]);
  const name = openMemory(about.place).read("name", null);
  try {
    if (name) return enter(about, desk, await beginSession(about, name));
  } catch (error) {
    if (error.kind === "refused") openMemory(about.place).write("name", null);
    return showSignIn(about, desk, { error, name });
  }
  return showSignIn(about, desk, null);
}

/** Ask who sits there. */
function showSignIn(about, desk, trouble) {
  signIn(desk.main, about, trouble, async (given) => enter(about, desk, await beginSession(about, given)));
}

/** Let a reviewer in. */
function enter(about, desk, session) {
  desk.enter(session);
  let close = () => {};
  followRoute(({ parts, params }) => {
    const [view = "item", ...rest] = parts;
    close();
    setViewKeys([]);
    const make = REVIEW_VIEWS[view];
    if (!make) return goTo(routeHref([]), { replace: true });
    desk.mark(view);
    close = make(session, fill(desk.main), rest, params) ?? (() => {});
  });
}

/** Set the seat free, as far as the server is there to hear it, and forget who sits there. */
async function leave(about) {
  const memory = openMemory(about.place);
  await tell("leave", { as: memory.read("name", "") }).catch(() => null);
  memory.write("name", null);
  location.hash = "";
  location.reload();
}

startReview().catch((error) =>
  fill(document.getElementById("app"), h("main", h("h1", "Something is wrong with this page"), h("p", String(error)))),
);

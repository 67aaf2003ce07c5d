// Why there is no page: the sentence, what to do next, and the way back.

import { fill, h } from "../common/dom.js";
import { blockJson } from "../common/page.js";
import { runsFrame } from "./frame.js";

/** Say it. */
async function openProblem() {
  const problem = await blockJson("problem");
  const said = problem.message.charAt(0).toUpperCase() + problem.message.slice(1);
  fill(
    runsFrame(),
    h("h1", "This cannot be shown"),
    h("p.warning", { role: "alert" }, said),
    problem.hint ? h("p", "→ ", problem.hint) : null,
    problem.offer ? h("p", h("a.primary", { href: problem.offer.href }, problem.offer.text)) : null,
    h("p", h("a", { href: "/" }, "Back to all runs")),
  );
  document.documentElement.dataset.ready = "true";
}

openProblem();

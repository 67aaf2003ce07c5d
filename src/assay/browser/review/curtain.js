// Some views show what others said. Who still votes sees them after the last vote, or gives up voting for it.

import { fill, h } from "../common/dom.js";
import { counted } from "../common/format.js";
import { askPatiently, tell } from "./asking.js";
import { troubleNote } from "./frame.js";
import { isOpen, refreshQueue } from "./session.js";

/** Ask for what is behind the curtain and draw it; while one still votes, say so instead. Gives what ends it. */
export function behindCurtain(session, main, what, draw) {
  const page = h("div.page");
  let wanted = true;
  fill(main, page);

  /** Show what is there, or the curtain; one that fell since we looked is found when the server refuses. */
  async function load(isLast = false) {
    const left = session.adjudicates ? 0 : session.items.filter((one) => isOpen(session, one)).length;
    if (left) return fill(page, curtainNote(session, left, giveUp));
    fill(page, h("p.note", "Loading…"));
    try {
      const answer = await askPatiently(
        what,
        { as: session.name },
        { wanted: () => wanted, waiting: (error) => fill(page, troubleNote(error)) },
      );
      return wanted && draw(page, answer);
    } catch (error) {
      if (!wanted) return undefined;
      if (isLast || error.kind !== "refused") return fill(page, troubleNote(error));
      return refreshQueue(session).then(
        () => load(true),
        () => fill(page, troubleNote(error)),
      );
    }
  }

  /** Give up voting, and look. */
  async function giveUp() {
    try {
      await tell("give-up", { as: session.name });
      session.adjudicates = true;
      await load();
    } catch (error) {
      fill(page, troubleNote(error));
    }
  }

  load();
  return () => {
    wanted = false;
  };
}

/** Say why nothing is shown, and what would lift the curtain. */
function curtainNote(session, open, giveUp) {
  return h("div.card.curtain", [
    h("h1", "Locked while you vote"),
    h("p", [
      `${counted(open, "item")} ${open === 1 ? "is" : "are"} open for you. ` +
        "This shows what others said, and a vote counts because it is blind: " +
        "look here when you have given the last one.",
    ]),
    h("p", "If you are here to adjudicate, you may look now. Then you decide what is disputed, and do not vote."),
    h("button", { onclick: giveUp }, "I adjudicate, and do not vote"),
    h("p.note", [
      "Who runs the study, and neither votes nor adjudicates, counts on the terminal: ",
      h("code", `assay gold review ${session.about.set} --status`),
    ]),
  ]);
}

// The report: the verdict on top, then the sections of `report/sections.js`, the first at once and the rest one by one.

import { h, prose } from "../../common/dom.js";
import { counted } from "../../common/format.js";
import { reportHref } from "../parts.js";
import { SECTIONS } from "./sections.js";

const MOST_WARNINGS = 3; // under the verdict; whoever reads more of them reads the section
const FIRST_SECTIONS = 3; // about one screen; the others are drawn between two frames each

/** Build the report: {node, sections(), reach(id), inSight()}; `changed` is told when a section turns out empty. */
export function buildReport(data, changed) {
  const parts = SECTIONS.map((section) => ({ section, node: null, done: false }));
  const node = h("div.report", [verdictHead(data), parts.map((part) => (part.node = sectionFrame(part.section)))]);
  const draw = (part) => !part.done && drawSection(part, data) === false && changed();
  const drawAll = () => parts.forEach(draw);
  parts.slice(0, FIRST_SECTIONS).forEach(draw);
  drawLater(parts.slice(FIRST_SECTIONS), draw);
  window.addEventListener("beforeprint", drawAll);
  return {
    node,
    sections: () => parts.filter((part) => part.node).map((part) => part.section),
    reach: (id) => {
      drawAll();
      return parts.find((part) => part.section.id === id)?.node ?? null;
    },
    inSight: () => sectionInSight(parts),
  };
}

/** Say the verdict. */
function verdictHead(data) {
  const { summary, results } = data;
  return h("header", { class: `verdict ${summary.tone}` }, [
    h("p.kicker", `Report · ${results.suite}`),
    h("h1", prose(summary.sentence)),
    results.reading && h("p.reading", prose(results.reading)),
    graveWarnings(results.warnings),
  ]);
}

/** Say the first of what limits every number before the first of them is read. */
function graveWarnings(warnings) {
  const [shown, more] = [warnings.slice(0, MOST_WARNINGS), warnings.length - MOST_WARNINGS];
  if (!shown.length) return null;
  return h("ul.sentences.warning", [
    shown.map((text) => h("li", prose(text))),
    more > 0 && h("li", h("a", { href: reportHref("limits") }, `${counted(more, "more warning")} below`)),
  ]);
}

/** Make the place of a section. */
function sectionFrame(section) {
  return h(
    "section.report-section",
    { id: `section-${section.id}`, "aria-labelledby": `title-${section.id}`, tabindex: "-1" },
    [h("h2", { id: `title-${section.id}` }, section.title)],
  );
}

/** Draw one section; false where it has nothing to say, and goes. */
function drawSection(part, data) {
  part.done = true;
  const content = contentOf(part.section, data);
  if (content) part.node.append(content);
  else {
    part.node.remove();
    part.node = null;
  }
  return content !== null;
}

/** Make the content of a section; one that cannot be drawn leaves the others alone. */
function contentOf(section, data) {
  try {
    return section.render(data);
  } catch (error) {
    console.error(`section ${section.id}:`, error);
    return h("p.warning", `This section could not be drawn: ${error.message}`);
  }
}

/** Draw sections one by one, leaving the page to its reader in between. */
function drawLater(parts, draw) {
  const [first, ...rest] = parts;
  if (!first) return;
  setTimeout(() => {
    draw(first);
    drawLater(rest, draw);
  }, 0);
}

/** Name the section at the top of the screen. */
function sectionInSight(parts) {
  const line = window.innerHeight / 3;
  const above = parts.filter((part) => part.node && part.node.getBoundingClientRect().top < line);
  return above.at(-1)?.section.id ?? "";
}

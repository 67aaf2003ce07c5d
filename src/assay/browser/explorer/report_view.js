// The report: the verdict on top, then the sections of `report/sections.js`, the first at once and the rest one by one.

import { h, prose } from "../common/dom.js";
import { SECTIONS } from "./report/sections.js";

const FIRST_SECTIONS = 3; // about one screen; the others are drawn between two frames each

/** Build the report: {node, sections(), reach(id), spy(call)}. `changed` is told when a section turns out to be empty. */
export function buildReport(data, changed) {
  const parts = SECTIONS.map((section) => ({ section, node: null, done: false }));
  const node = h(
    "div",
    { class: "report" },
    verdictHead(data),
    parts.map((part) => (part.node = sectionFrame(part.section))),
  );
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
  const sentence = summary.title.replace(`${results.suite}: `, ""); // the suite stands above it, and may be long
  return h(
    "header",
    { class: `verdict ${summary.tone}` },
    h("p", { class: "kicker" }, `Report · ${results.suite}`),
    h("h1", null, prose(sentence)),
    summary.reading && h("p", { class: "reading" }, prose(summary.reading)),
  );
}

/** Make the place of a section. */
function sectionFrame(section) {
  return h(
    "section",
    { class: "report-section", id: `section-${section.id}`, "aria-labelledby": `title-${section.id}`, tabindex: "-1" },
    h("h2", { id: `title-${section.id}` }, section.title),
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
    return h("p", { class: "warning" }, `This section could not be drawn: ${error.message}`);
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

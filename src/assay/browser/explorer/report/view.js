// The report: the answer on the first screen, then sections, the first at once and the others one by one.

import { h } from "../../common/dom.js";
import { adversariesSection } from "./adversaries.js";
import { costSection, inputsSection } from "./cost.js";
import { differencesSection, winsSection } from "./differences.js";
import { groupsSection, phrasingsSection } from "./groups.js";
import { limitsSection, tablesSection } from "./limits.js";
import { renderOverview } from "./overview.js";
import { ranksSection, tradeoffsSection } from "./ranks.js";
import { meansSection, scoresSection } from "./scores.js";

const FIRST_SECTIONS = 1; // below the first screen; each of the others is drawn in a task of its own

// In the order shown: {id, title, render(data) -> Node | null}.
const SECTIONS = [
  scoresSection,
  meansSection,
  differencesSection,
  winsSection,
  ranksSection,
  tradeoffsSection,
  groupsSection,
  phrasingsSection,
  adversariesSection,
  tablesSection,
  limitsSection,
  costSection,
  inputsSection,
];

/** Build the report: {node, sections(), reach(id), inSight()}; `changed` is called when an empty section is removed. */
export function buildReport(data, changed) {
  const parts = SECTIONS.map((section) => ({ section, node: sectionFrame(section), drawn: false }));
  const draw = (part) => {
    if (part.drawn) return;
    part.drawn = true;
    const content = renderSection(part.section, data);
    if (content) return part.node.append(content);
    part.node.remove();
    part.node = null;
    changed();
  };
  const drawAll = () => parts.forEach(draw);
  const drawLater = ([first, ...rest]) => {
    if (first) setTimeout(() => (draw(first), drawLater(rest)), 0);
  };
  const node = h(
    "div.report",
    renderOverview(data),
    parts.map((part) => part.node),
  );
  parts.slice(0, FIRST_SECTIONS).forEach(draw);
  drawLater(parts.slice(FIRST_SECTIONS));
  window.addEventListener("beforeprint", drawAll);
  return {
    node,
    sections: () => parts.filter((part) => part.node).map((part) => part.section),
    reach: (id) => {
      drawAll();
      return parts.find((part) => part.section.id === id)?.node ?? null;
    },
    inSight: () => {
      const line = window.innerHeight / 3;
      const above = parts.filter((part) => part.node && part.node.getBoundingClientRect().top < line);
      return above.at(-1)?.section.id ?? "";
    },
  };
}

function sectionFrame({ id, title }) {
  const props = { id: `section-${id}`, "aria-labelledby": `title-${id}`, tabindex: "-1" };
  return h("section.report-section", props, h("h2", { id: `title-${id}` }, title));
}

/** Return the content of a section; an error in one section does not affect the others. */
function renderSection(section, data) {
  try {
    return section.render(data);
  } catch (error) {
    console.error(`section ${section.id}:`, error);
    return h("p.warning", `Cannot draw this section: ${error.message}`);
  }
}

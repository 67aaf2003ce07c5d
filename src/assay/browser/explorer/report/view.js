// The report: the verdict on top, then its sections, the first at once and the others one by one.

import { h, prose } from "../../common/dom.js";
import { counted, fixed, grouped, percent, signed } from "../../common/format.js";
import { reportHref } from "../parts.js";
import { adversariesSection } from "./adversaries.js";
import { costSection, inputsSection } from "./cost.js";
import { differencesSection, winsSection } from "./differences.js";
import { groupsSection, phrasingsSection } from "./groups.js";
import { limitsSection, tablesSection } from "./limits.js";
import { comparisonsOn, decidingP, meansOf, note, pText, signedInterval, stack } from "./parts.js";
import { ranksSection, tradeoffsSection } from "./ranks.js";
import { meansSection, scoresSection } from "./scores.js";

const MAX_WARNINGS = 3; // under the verdict; the others are in the section on limitations
const FIRST_SECTIONS = 3; // about one screen; each of the others is drawn in a task of its own

const verdictSection = { id: "verdict", title: "Verdict", render: renderVerdict };
// In the order shown: {id, title, render(data) -> Node | null}.
const SECTIONS = [
  verdictSection,
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
    reportHead(data),
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

function reportHead({ summary, results }) {
  const { warnings } = results;
  const { headline, lines } = summary.decision;
  const rest = warnings.length - MAX_WARNINGS;
  return h("header.verdict", { class: summary.tone }, [
    h("p.kicker", `Report · ${results.suite}`),
    h("h1", prose(headline)),
    h("ul.card", lines.map((line) => h("li", prose(line)))),
    results.reading && h("p.reading", prose(results.reading)),
    warnings.length > 0 &&
      h("ul.sentences.warning", [
        warnings.slice(0, MAX_WARNINGS).map((text) => h("li", prose(text))),
        rest > 0 && h("li", h("a", { href: reportHref("limits") }, `${counted(rest, "more warning")} below`)),
      ]),
  ]);
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

// --- the verdict section: the figures behind the sentence on top ---------------------------------------------------

function renderVerdict(data) {
  const { challenger, warnings, comparison } = data.results;
  const row = comparisonsOn(data, data.primary).find(({ engine }) => engine === challenger);
  const family = `One of ${comparison.family_size} planned comparisons; p is adjusted for all of them.`;
  const count = warnings.length;
  return stack(
    row ? comparisonFigures(comparison, row) : singleFigures(data),
    row &&
      note(
        `${comparison.family_size > 1 ? `${family} ` : ""}Differences within ±${comparison.margin} ` +
          `are below the margin. The verdict holds ${row.label}.`,
      ),
    row && row.notes.map((text) => h("p.warning", text)),
    count > 0 &&
      h("p.limits-line", [
        h(
          "a",
          { href: reportHref("limits") },
          `${counted(count, "warning")} limit${count === 1 ? "s" : ""} these numbers`,
        ),
      ]),
  );
}

function comparisonFigures({ alpha }, row) {
  const clusters = counted(row.clusters, "cluster");
  return figures([
    {
      label: `${row.engine} − ${row.baseline}`,
      value: signed(row.difference),
      small: `${fixed(row.baseline_mean)} → ${fixed(row.mean)} ${row.measure}`,
      tone: row.tone,
    },
    {
      label: `${percent(row.interval.level)} CI`,
      value: signedInterval(row.interval),
      small: `verdict: ${row.verdict_text}`,
    },
    {
      label: row.p_adjusted === null ? "p" : "p (Holm)",
      value: pText(decidingP(row)),
      small: row.p === null ? `none: ${clusters} cannot reach α = ${alpha}` : `a verdict needs p ≤ ${alpha}`,
    },
    { label: "MDE", value: row.mde_text, small: "minimum detectable effect" },
    {
      label: "better / same / worse",
      value: `${row.wins} / ${row.ties} / ${row.losses}`,
      small: `of ${counted(row.queries, "query", "queries")}`,
    },
    {
      label: "effective n",
      value: grouped(row.effective_n),
      small: `${clusters}, ${counted(row.repositories, "repository", "repositories")}`,
    },
  ]);
}

/** Render the mean of an engine that is compared with nothing. */
function singleFigures(data) {
  const mean = meansOf(data, data.primary).find(({ engine }) => engine === data.results.leader);
  if (!mean) return null;
  const { baseline, failed } = data.results.comparison;
  const failures = failed.map((name) => (name === baseline ? `${name} (the baseline)` : name)).join(", ");
  const { low, high, level } = mean.interval;
  return figures([
    { label: `${mean.engine}, ${mean.measure}`, value: fixed(mean.mean), small: "mean" },
    { label: `${percent(level)} CI`, value: `[${fixed(low)}, ${fixed(high)}]` },
    { label: "queries", value: grouped(mean.queries), small: counted(mean.repositories, "repository", "repositories") },
    {
      label: "compared with",
      value: "nothing",
      small: failures ? `all queries failed: ${failures}` : "run a second engine to compare",
    },
  ]);
}

function figures(list) {
  return h("dl.figures", [
    list.map(({ label, value, small, tone }) =>
      h("div.figure", { class: tone }, [
        h("dt", label),
        h("dd", h("span.figure-value", value), small && h("span.figure-small", small)),
      ]),
    ),
  ]);
}

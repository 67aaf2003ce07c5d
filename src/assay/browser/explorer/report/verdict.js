// Is it real? The best rival against the baseline in a handful of figures; the sentence stands above, in the frame.

import { h } from "../../common/dom.js";
import { counted, fixed, grouped, percent, signed } from "../../common/format.js";
import { reportHref } from "../parts.js";
import { figures, note, stack } from "./parts.js";
import { comparisonsOn, decidingP, meansOf, pText, signedEnds } from "./words.js";

export const verdictSection = { id: "verdict", title: "Is it real?", render: renderVerdict };

/** Show the figures that the verdict rests on, and where to read what limits them. */
function renderVerdict(data) {
  const row = comparisonsOn(data, data.primary).find((one) => one.engine === data.results.challenger);
  return stack(
    row ? comparedFigures(data, row) : aloneFigures(data),
    row && note(howToRead(data, row)),
    row && row.notes.map((text) => h("p.warning", text)),
    limitsLine(data),
  );
}

/** Show a comparison. */
function comparedFigures(data, row) {
  const level = percent(row.interval.level);
  return figures([
    {
      label: `${row.engine} − ${row.baseline}`,
      value: signed(row.difference),
      small: `${fixed(row.baseline_mean)} → ${fixed(row.mean)} ${row.measure}`,
      tone: row.tone,
    },
    { label: `${level} interval`, value: signedEnds(row.interval), small: `verdict: ${row.said}` },
    { label: row.p_adjusted === null ? "p" : "p (Holm)", value: pText(decidingP(row)), small: pNote(data, row) },
    { label: "MDE", value: row.mde_text, small: "smallest difference this set would probably show" },
    {
      label: "better / same / worse",
      value: `${row.wins} / ${row.ties} / ${row.losses}`,
      small: `of ${counted(row.queries, "query", "queries")}`,
    },
    {
      label: "independent queries",
      value: grouped(row.effective_n),
      small: `${counted(row.clusters, "cluster")}, ${counted(row.repositories, "repository", "repositories")}`,
    },
  ]);
}

/** Say what a p-value is measured by, or why there is none. */
function pNote(data, row) {
  if (row.p === null)
    return `none: ${counted(row.clusters, "cluster")} cannot reach α = ${data.results.comparison.alpha}`;
  return `claims need p ≤ ${data.results.comparison.alpha}`;
}

/** Show an engine that nothing is compared with. */
function aloneFigures(data) {
  const mean = meansOf(data, data.primary).find((one) => one.engine === data.results.leader);
  if (!mean) return null;
  return figures([
    { label: `${mean.engine}, ${mean.measure}`, value: fixed(mean.mean), small: "mean" },
    {
      label: `${percent(mean.interval.level)} interval`,
      value: `[${fixed(mean.interval.low)}, ${fixed(mean.interval.high)}]`,
    },
    { label: "queries", value: grouped(mean.queries), small: counted(mean.repositories, "repository", "repositories") },
    { label: "compared with", value: "nothing", small: whyAlone(data.results.comparison) },
  ]);
}

/** Say why there is no comparison: who failed, or that nobody else was run. */
function whyAlone({ baseline, failed }) {
  if (!failed.length) return "run a second engine to learn what is better";
  const named = failed.map((name) => (name === baseline ? `${name} (the baseline)` : name));
  return `no query was answered by ${named.join(", ")}`;
}

/** Say in a sentence what the figures allow. */
function howToRead(data, row) {
  const { margin, family_size: size } = data.results.comparison;
  const family = size > 1 ? `One of ${size} comparisons that were declared; p is adjusted for all of them.` : "";
  return `${family} Differences within ±${margin} are not worth a change. The claim holds ${row.label}.`.trim();
}

/** Point to what could not be claimed, where there is something. */
function limitsLine(data) {
  const many = data.results.warnings.length;
  if (!many) return null;
  return h("p.limits-line", [
    h("a", { href: reportHref("limits") }, `${counted(many, "warning")} limit${many === 1 ? "s" : ""} these numbers`),
  ]);
}

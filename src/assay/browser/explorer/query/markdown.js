// A query's page as Markdown: for an issue, a pull request, a chat.

import { markdownCode, markdownTable, markdownText } from "../../common/copying.js";
import { fixed, placeText } from "../../common/format.js";
import { distinctHits } from "../moving.js";
import { gradeName } from "./gold.js";

/** Write what the page says of a query: the question, the gold, and the chosen rankings beside each other. */
export function queryMarkdown({ data, unit, engines, loaded }) {
  const { query } = unit;
  const lines = [
    `### ${markdownText(unit.text)}`,
    "",
    `${markdownCode(`${unit.gold}/${query.id}`)} · ${markdownText(unit.form)}`,
    "",
  ];
  lines.push(...query.targets.map((target) => `- ✓ ${gradeName(target.grade)}: ${markdownCode(target.anchor)}`));
  lines.push(...query.adversaries.map(adversaryLine), "");
  if (loaded?.rankings && engines.length) lines.push(rankingsMarkdown(data, unit, engines, loaded.rankings));
  return `${lines.join("\n").trimEnd()}\n`;
}

/** Write an adversary with why it misleads. */
function adversaryLine({ relationship, anchor, confusion }) {
  return `- ✗ ${markdownText(relationship)}: ${markdownCode(anchor)} ${markdownText(confusion ?? "")}`.trimEnd();
}

/** Write rankings as a table, one column an engine; what repeats a result above has no rank and is left out. */
function rankingsMarkdown(data, unit, engines, rankings) {
  const all = engines.map((engine) => rankings.ranking(engine, unit.index));
  const counted = all.map((one) => distinctHits(one.hits, data.level));
  const depth = Math.max(...counted.map((hits) => hits.length));
  const titles = engines.map(
    (engine) => `${data.engines[engine].name} (${data.primary} ${fixed(data.value(engine, data.primary, unit.index))})`,
  );
  const rows = Array.from({ length: depth }, (unused, at) => [
    String(at + 1),
    ...counted.map((hits) => hitText(hits[at])),
  ]);
  const failed = all.map((ranking) =>
    ranking.status === "ok" ? "" : [ranking.status, ranking.error].filter(Boolean).join(": "),
  );
  if (failed.some(Boolean)) rows.push(["", ...failed]);
  return markdownTable(["#", ...titles], ["right"], rows);
}

/** Write a hit in a cell. */
function hitText(hit) {
  if (!hit) return "";
  const sign = hit.mark === null ? "" : hit.mark.target === undefined ? "✗ " : "✓ ";
  return sign + placeText(hit);
}

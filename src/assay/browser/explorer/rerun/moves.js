// What moved when a query was asked again: old rank and new, what is right, what the measure says, and why.

import { h } from "../../common/dom.js";
import { table } from "../../common/table.js";
import { duration, fixed, placeText, SHOWN_STEP, signed } from "../../common/format.js";
import { waterfallTable } from "../query/trace.js";

const SLOW_OPENING = 0.05; // seconds: less is not worth a word

/** Draw the answer; `query` is null where the words were not those of the run, so that nothing is known to be right. */
export function movesPanel(answer, query, changed) {
  const opened = answer.opening > SLOW_OPENING ? `; opened in ${duration(answer.opening)}` : "";
  return [
    h("h3", "What moved"),
    h("p.rerun-summary", valueOf(answer), summaryOf(answer, changed)),
    h("p.note", `Answered in ${duration(answer.seconds)}${opened}.`),
    answer.notes.map((note) => h("p.warning", note)),
    query ? null : h("p.note", "These are not the words of the gold set: nothing is known to be right or wrong."),
    h("div.moves", movesTable(answer, query)),
    h("h3", "What each stage did to the new ranking"),
    waterfallTable(answer.trace, query ?? { targets: [] }),
  ];
}

/** Say in words how much moved. */
function summaryOf(answer, changed) {
  const up = answer.hits.filter((hit) => hit.before === null || hit.rank < hit.before).length;
  const down = [...answer.hits, ...answer.gone].filter(
    (hit) => hit.before !== null && (hit.rank === null || hit.rank > hit.before),
  ).length;
  if (!up && !down)
    return changed ? "Nothing moved among the first results. " : "The same as with the run's settings. ";
  return `${up} up, ${down} down among the first ${answer.k}. `;
}

/** Show the measure before and after. */
function valueOf(answer) {
  const { value } = answer;
  if (!value) return null;
  const gain = (value.after - value.before) * (value.higher ? 1 : -1);
  const tone = Math.abs(gain) < SHOWN_STEP ? "" : gain > 0 ? "good" : "bad";
  return [
    h("span", `${value.measure} ${fixed(value.before)} → `),
    h("strong", { class: tone }, fixed(value.after)),
    h("span", { class: tone }, ` (${signed(value.after - value.before)})`),
    ". ",
  ];
}

/** Draw the new ranking, and below it what left it. */
function movesTable(answer, query) {
  return table({
    caption: "The new ranking and where its results stood before",
    columns: [
      {
        id: "rank",
        title: "Rank",
        align: "right",
        first: "ascending",
        value: (hit) => hit.rank,
        text: (hit) => rankText(hit.rank, answer),
      },
      {
        id: "before",
        title: "Was",
        align: "right",
        first: "ascending",
        value: (hit) => hit.before,
        text: (hit) => rankText(hit.before, answer),
      },
      { id: "move", title: "Move", align: "right", value: moveOf, text: moveText, cell: moveCell },
      { id: "place", title: "Result", head: true, value: placeText, cell: (hit) => placeCell(hit, query) },
      { id: "score", title: "Score", align: "right", value: (hit) => hit.score },
    ],
    rows: [...answer.hits, ...answer.gone],
    rowProps: (hit) => ({
      class:
        [hit.target !== null ? "answer" : "", hit.rank === null || hit.rank > answer.k ? "left" : ""]
          .join(" ")
          .trim() || null,
    }),
    empty: "Nothing was found.",
  });
}

/** Write a rank; one that is not followed is behind those that are. */
function rankText(rank, answer) {
  return rank === null ? `> ${answer.followed}` : String(rank);
}

/** Count the places that a result rose; null where it was or is nowhere. */
function moveOf(hit) {
  return hit.rank === null || hit.before === null ? null : hit.before - hit.rank;
}

/** Write a move. */
function moveText(hit) {
  if (hit.before === null) return "▲ new";
  if (hit.rank === null) return "▼ gone";
  const by = moveOf(hit);
  return by === 0 ? "=" : `${by > 0 ? "▲" : "▼"} ${Math.abs(by)}`;
}

/** Draw a move; sign and word say what the colour says. */
function moveCell(hit) {
  const text = moveText(hit);
  const word = text.startsWith("▲") ? "up" : text.startsWith("▼") ? "down" : "same";
  return h(
    "span",
    {
      class: `move ${{ up: "good", down: "bad", same: "soft" }[word]}`,
      "aria-label": `${word} ${text.slice(2)}`.trim(),
      role: "img",
    },
    [text],
  );
}

/** Name a result and what it is. */
function placeCell(hit, query) {
  const grade = hit.target !== null ? query?.targets[hit.target]?.grade : null;
  return [
    h("span.place", placeText(hit)),
    " ",
    hit.target !== null ? h("span.badge.good", grade === 1 ? "✓ secondary" : "✓ answer") : null,
    hit.adversary !== null ? h("span.badge.bad", "✗ adversary") : null,
  ];
}

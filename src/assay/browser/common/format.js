// Numbers, counts and Markdown. Digits are those of Python's `format`: report.html and RESULTS.md show the same number.

const MINUS = "\u2212";
const TIE = `5${"0".repeat(29)}`; // the digits after the last one of an exact tie; no other double comes this close
export const SHOWN_STEP = 0.0005; // half of the last digit shown: anything smaller reads 0.000

/** Format a number with fixed digits; a dash for anything that is not a number. */
export function fixed(value, digits = 3) {
  if (!isNumber(value)) return "–";
  const text = rounded(Math.abs(value), digits);
  return value < 0 && Number(text) !== 0 ? MINUS + text : text;
}

export function signed(value, digits = 3) {
  const text = fixed(value, digits);
  return value > 0 && Number(text) > 0 ? `+${text}` : text;
}

export function percent(value, digits = 0) {
  return isNumber(value) ? `${fixed(value * 100, digits)}%` : "–";
}

/** Format a time: seconds from one second up, milliseconds below. */
export function duration(seconds) {
  if (!isNumber(seconds)) return "–";
  if (seconds >= 1) return `${fixed(seconds, seconds >= 100 ? 0 : 1)} s`;
  const ms = seconds * 1000;
  return `${fixed(ms, ms >= 10 ? 0 : 1)} ms`;
}

export function grouped(value, digits = 0) {
  const [whole, rest] = fixed(value, digits).split(".");
  const separated = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return rest === undefined ? separated : `${separated}.${rest}`;
}

/** Format a count with its noun: 1 query, 2 queries. */
export function counted(value, singular, plural = `${singular}s`) {
  return `${grouped(value)} ${value === 1 ? singular : plural}`;
}

export function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}

/** Format a span: its path, with its lines if it has some. */
export function spanText({ path, start, end }) {
  if (start === null || start === undefined) return path;
  return end === start ? `${path}:${start}` : `${path}:${start}-${end}`;
}

/** Format rows of texts as a Markdown table; `aligns` has "right" for columns of numbers. */
export function markdownTable(titles, aligns, rows) {
  const cell = (text) => markdownText(text).replace(/\|/g, "\\|");
  const line = (cells) => `| ${cells.map(cell).join(" | ")} |`;
  const rule = `|${aligns.map((align) => (align === "right" ? "---:" : "---")).join("|")}|`;
  return [line(titles), rule, ...rows.map(line)].join("\n") + "\n";
}

/** Escape a text for one line of Markdown. */
export function markdownText(text) {
  return String(text)
    .replace(/\s+/g, " ")
    .trim()
    .replace(/[\\`*_<>[\]]/g, "\\$&");
}

/** Format a text as inline code: backticks in it need a longer fence. */
export function markdownCode(text) {
  const flat = String(text).replace(/\s+/g, " ");
  const fence = "`".repeat(1 + Math.max(0, ...(flat.match(/`+/g) ?? []).map((run) => run.length)));
  return fence.length > 1 ? `${fence} ${flat} ${fence}` : `\`${flat}\``;
}

/** Round by the exact binary value, as `toFixed` does, but ties to the even digit, as Python does. */
function rounded(value, digits) {
  const exact = value.toFixed(digits + TIE.length);
  const below = exact.slice(0, -TIE.length).replace(/\.$/, "");
  return exact.endsWith(TIE) && "02468".includes(below.at(-1)) ? below : value.toFixed(digits);
}

// Numbers and counts as people read them; the same everywhere, so that copies of a table agree with it. Digits are
// those that Python's `format` gives: report.html and RESULTS.md show the same number.

const MINUS = "\u2212";
const TIE = `5${"0".repeat(29)}`; // what lies behind the last digit of a tie; no other double comes this close to one
export const SHOWN_STEP = 0.0005; // half of the last digit that is shown: what is smaller reads 0.000

/** Write a number with fixed digits; what is no number is a dash. */
export function fixed(value, digits = 3) {
  if (!isNumber(value)) return "–";
  const text = rounded(Math.abs(value), digits);
  return value < 0 && Number(text) !== 0 ? MINUS + text : text;
}

/** Write a difference with its sign. */
export function signed(value, digits = 3) {
  const text = fixed(value, digits);
  return value > 0 && Number(text) > 0 ? `+${text}` : text;
}

/** Write a share in per cent. */
export function percent(value, digits = 0) {
  return isNumber(value) ? `${fixed(value * 100, digits)} %` : "–";
}

/** Write a time: seconds from one second up, milliseconds below. */
export function duration(seconds) {
  if (!isNumber(seconds)) return "–";
  if (seconds >= 1) return `${fixed(seconds, seconds >= 100 ? 0 : 1)} s`;
  const ms = seconds * 1000;
  return `${fixed(ms, ms >= 10 ? 0 : 1)} ms`;
}

/** Write a number with its thousands apart. */
export function grouped(value, digits = 0) {
  const [whole, rest] = fixed(value, digits).split(".");
  const apart = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return rest === undefined ? apart : `${apart}.${rest}`;
}

/** Write a count with its noun: 1 query, 2 queries. */
export function counted(value, one, many = `${one}s`) {
  return `${grouped(value)} ${value === 1 ? one : many}`;
}

/** Tell whether something is a number that can be shown. */
export function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}

/** Name a place: path, or path and lines. */
export function placeText(place) {
  if (place.start === null || place.start === undefined) return place.path;
  return place.end === place.start ? `${place.path}:${place.start}` : `${place.path}:${place.start}-${place.end}`;
}

/** Round by the exact binary value, as `toFixed` does, but a tie to the even digit, as Python does. */
function rounded(value, digits) {
  const exact = value.toFixed(digits + TIE.length);
  const below = exact.slice(0, -TIE.length).replace(/\.$/, "");
  return exact.endsWith(TIE) && "02468".includes(below.at(-1)) ? below : value.toFixed(digits);
}

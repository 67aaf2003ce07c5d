// Numbers and counts as people read them; the same everywhere, so that copies of a table agree with it.

const MINUS = "\u2212";

/** Write a number with fixed digits; what is no number is a dash. */
export function fixed(value, digits = 3) {
  if (!isNumber(value)) return "–";
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? MINUS + text : text;
}

/** Write a difference with its sign. */
export function signed(value, digits = 3) {
  if (!isNumber(value)) return "–";
  return value > 0 && Number(value.toFixed(digits)) !== 0 ? `+${fixed(value, digits)}` : fixed(value, digits);
}

/** Write a share in per cent. */
export function percent(value, digits = 0) {
  return isNumber(value) ? `${fixed(value * 100, digits)} %` : "–";
}

/** Write a time: seconds from one second up, milliseconds below. */
export function duration(seconds) {
  if (!isNumber(seconds)) return "–";
  if (seconds >= 100) return `${Math.round(seconds)} s`;
  if (seconds >= 1) return `${seconds.toFixed(1)} s`;
  const ms = seconds * 1000;
  return `${ms >= 10 ? Math.round(ms) : ms.toFixed(1)} ms`;
}

/** Write a whole number with its thousands apart. */
export function grouped(value) {
  return isNumber(value) ? Math.round(value).toLocaleString("en-US") : "–";
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

// Axes: where a value stands on one, and the round numbers beside it. Places are in per cent, so that a drawing is as
// wide as its box without being drawn again.

const STEPS = [1, 2, 2.5, 5, 10];
const MOST_TICKS = 5;
const EDGE = 1.5; // per cent kept free at both ends, so that a mark at the end of the axis is whole

/** Make a linear axis over a range, widened to round numbers; `least` and `most` are ends it does not pass. */
export function linearAxis(low, high, { count = 5, least = -Infinity, most = Infinity } = {}) {
  const [from, to] = low < high ? [low, high] : [low - 0.05, high + 0.05];
  const step = roundStep((to - from) / count);
  const start = Math.max(least, Math.floor(from / step + 1e-9) * step);
  const end = Math.min(most, Math.ceil(to / step - 1e-9) * step);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) + (step.toPrecision(1) * 1 === step ? 0 : 1);
  return { low: start, high: end, ticks: between(start, end, step), digits, place: placer(start, end, (x) => x) };
}

/** Make a logarithmic axis over positive values, its ticks at 1, 2 and 5. */
function logAxis(low, high) {
  const start = 10 ** Math.floor(Math.log10(low));
  const ticks = [];
  for (let power = start; power <= high * 10; power *= 10) ticks.push(power, 2 * power, 5 * power);
  const first = Math.max(
    0,
    ticks.findLastIndex((tick) => tick <= low),
  );
  const last = ticks.findIndex((tick) => tick >= high);
  const kept = ticks.slice(first, Math.max(last, first + 1) + 1);
  return {
    low: kept[0],
    high: kept.at(-1),
    ticks: fewTicks(kept),
    digits: 0,
    place: placer(kept[0], kept.at(-1), Math.log10),
  };
}

/** Keep as many ticks as a phone has room for: 1, 2 and 5, or 1 and 5, or 1 alone. */
function fewTicks(ticks) {
  const leading = (digits) => ticks.filter((tick) => digits.includes(tick.toExponential()[0]));
  return [ticks, leading("15"), leading("1")].find((some) => some.length <= MOST_TICKS && some.length > 1) ?? ticks;
}

/** Choose a straight axis or, where values differ by more than a factor of ten, a logarithmic one. */
export function costAxis(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return low > 0 && high / low > 10 ? logAxis(low, high) : linearAxis(0, high || 1);
}

/** Find the round step that is next above a wanted one. */
function roundStep(wanted) {
  const power = 10 ** Math.floor(Math.log10(wanted));
  return power * STEPS.find((step) => step * power >= wanted * 0.999);
}

/** List the multiples of a step inside a range. */
function between(start, end, step) {
  const first = Math.ceil(start / step - 1e-6);
  const many = Math.floor(end / step + 1e-6) - first;
  return Array.from({ length: many + 1 }, (_, place) => Number(((first + place) * step).toPrecision(12)));
}

/** Make the function that gives a value's place in per cent, held inside the axis. */
function placer(low, high, bend) {
  const [from, to] = [bend(low), bend(high)];
  return (value) => EDGE + (100 - 2 * EDGE) * Math.min(1, Math.max(0, (bend(value) - from) / (to - from || 1)));
}

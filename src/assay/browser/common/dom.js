// Elements by name, properties and children. Text is always text: nothing here parses markup.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";
// Controls but tab and newline, and what turns the direction of writing: names that others chose steer no screen.
const UNFIT = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ud800-\udfff]/;
const UNFIT_EACH = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]|\p{Surrogate}/gu;

/**
 * Make an HTML element: `h("a", {class: "link", href: "#/"}, "Report")`.
 *
 * A property that is a function named `on…` listens, `style` and `dataset` are objects, `true` is an attribute without
 * a value; null, undefined and false are left out, of properties and of children. Arrays of children are flattened.
 */
export function h(tag, props = null, ...children) {
  return filled(document.createElement(tag), props, children);
}

/** Make an SVG element, as `h` does HTML. */
export function svg(tag, props = null, ...children) {
  return filled(document.createElementNS(SVG_NAMESPACE, tag), props, children);
}

/** Make one entry of a list to choose from; its value is the name itself, only what is shown of it is tamed. */
export function option(value, text, chosen = false) {
  const element = h("option", { selected: chosen }, text);
  element.value = value;
  return element;
}

/** Put children in the place of those that an element has. */
export function fill(element, ...children) {
  element.replaceChildren();
  appendAll(element, children);
  return element;
}

/** Show what has no shape, or would steer the screen, as `�`. */
export function tame(text) {
  return UNFIT.test(text) ? text.replace(/\r\n?/g, "\n").replace(UNFIT_EACH, "\ufffd") : text;
}

/** Set a sentence: what stands in single backticks is code. */
export function prose(text) {
  const parts = String(text).split(/(?<!`)`([^`\s](?:[^`\n]*[^`\s])?)`(?!`)/);
  return parts.map((part, place) => (place % 2 ? h("code", null, part) : part));
}

/** Give an element its properties and children. */
function filled(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) setProperty(element, name, value);
  appendAll(element, children);
  return element;
}

/** Set one property of an element. */
function setProperty(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value);
  else if (name === "style" || name === "dataset") Object.assign(element[name], value);
  else element.setAttribute(name, value === true ? "" : tame(String(value)));
}

/** Append children, however deep they are nested. */
function appendAll(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) appendAll(element, child);
    else if (child instanceof Node) element.append(child);
    else if (child !== null && child !== undefined && child !== false) element.append(tame(String(child)));
  }
}

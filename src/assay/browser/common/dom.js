// Elements created from names, properties and children. Text stays text: nothing here parses markup.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";
// Control characters except tab and newline, bidirectional overrides and lone surrogates: names and file contents come
// from others and must not change how the page reads.
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ud800-\udfff]/;
const UNSAFE_EACH = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]|\p{Surrogate}/gu;

/**
 * Create an HTML element: `h("a.link", { href: "#/" }, "Report")`.
 *
 * Classes follow the tag name; properties may be left out. A function named `on…` is a listener, `style` and `dataset`
 * are objects, `true` is an attribute without a value, `class` adds to the classes. Null, undefined and false are
 * skipped among properties and children; arrays of children are flattened. Buttons do not submit unless `type` says so.
 */
export function h(selector, ...rest) {
  const [tag, ...classes] = selector.split(".");
  return build(document.createElement(tag), tag === "button" ? { type: "button" } : {}, classes, rest);
}

/** Create an SVG element, as `h` creates HTML. */
export function svg(selector, ...rest) {
  const [tag, ...classes] = selector.split(".");
  return build(document.createElementNS(SVG_NAMESPACE, tag), {}, classes, rest);
}

/** Create an entry of a <select>; its value is the exact name, only the label replaces unsafe characters. */
export function option(value, text, selected = false) {
  const element = h("option", { selected }, text);
  element.value = value;
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren();
  appendAll(element, children);
  return element;
}

/** Replace characters that are invisible or reorder text with `�`. */
export function tame(text) {
  return UNSAFE.test(text) ? text.replace(/\r\n?/g, "\n").replace(UNSAFE_EACH, "\ufffd") : text;
}

/** Render pairs of names and values as a list: `pairList("dl.facts", [["Margin", "0.02"]])`. */
export function pairList(selector, pairs) {
  const items = pairs.map(([name, value]) => [h("dt", name), h("dd", value)]);
  return h(selector, items);
}

/** Return the listener of a form that runs a function instead of loading a page. */
export function onSubmit(run) {
  return (event) => {
    event.preventDefault();
    run();
  };
}

/** Render a sentence: text in single backticks is code. */
export function prose(text) {
  const parts = String(text).split(/(?<!`)`([^`\s](?:[^`\n]*[^`\s])?)`(?!`)/);
  return parts.map((part, index) => (index % 2 ? h("code", part) : part));
}

function build(element, defaults, classes, rest) {
  const [first] = rest;
  const hasProps = first !== null && typeof first === "object" && !Array.isArray(first) && !(first instanceof Node);
  const props = { ...defaults, ...(hasProps ? first : null) };
  for (const [name, value] of Object.entries(props)) if (name !== "class") setProperty(element, name, value);
  const className = [...classes, props.class].filter(Boolean).join(" ");
  if (className) element.setAttribute("class", tame(className));
  appendAll(element, hasProps ? rest.slice(1) : rest);
  return element;
}

function setProperty(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value);
  else if (name === "style" || name === "dataset") Object.assign(element[name], value);
  else element.setAttribute(name, value === true ? "" : tame(String(value)));
}

function appendAll(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) appendAll(element, child);
    else if (child instanceof Node) element.append(child);
    else if (child !== null && child !== undefined && child !== false) element.append(tame(String(child)));
  }
}

// A table that is sorted by its headers and copied as Markdown. Long ones are drawn in slices while scrolling.
//
// table({
//   columns: [{
//     id,                     name in the URL and in `sort`
//     title,                  of the header
//     label,                  optional: a Node that the header shows instead of its title
//     value(row),             sort key: number, string or null (nulls are last in both directions)
//     text(row),              optional: text for copies, and shown if there is no `cell`; numbers get 3 digits
//     cell(row),              optional: the Node (or array, or string) shown
//     align: "right",         optional: for numbers
//     first: "descending",    optional: direction of the first click; right-aligned columns begin descending
//     fixed: true,            optional: not sortable
//     tip,                    optional: tooltip of the header
//     head: true,             optional: its cells are headers of their rows
//     wide: true,             optional: hidden on a phone
//   }],
//   rows,                     any array; its order is the unsorted order, and decides ties
//   caption,                  name of the table, for screen readers
//   sort: {id, descending},   optional: initial order
//   onsort({id, descending}), optional: called when a header is pressed
//   rowProps(row),            optional: properties of the <tr>
//   rowHref(row),             optional: where a click on the row leads; a cell must link there too, for the keyboard
//   references,               optional: rows that a button shows
//   referencesLabel,          optional: text of that button
//   empty,                    optional: text if there are no rows
//   tools: [nodes],           optional: beside the copy button
//   upTo,                     optional: draw at least this many rows at once
//   slice,                    optional: draw this many; a button shows the others, on paper too
// }) -> <div class="table-box">

import { h } from "./dom.js";
import { fixed, markdownTable } from "./format.js";
import { copyButton } from "./page.js";

const SLICE = 120; // rows: about three screens, drawn in a few milliseconds
const TEXT_ORDER = new Intl.Collator("en", { numeric: true });

export function textColumn(id, title, value, more = {}) {
  return { id, title, value, ...more };
}

export function headColumn(id, title, value, more = {}) {
  return { id, title, value, head: true, ...more };
}

/** Create a column of numbers; `format` is a number of digits or a function of the value. */
export function numberColumn(id, title, value, format = null, more = {}) {
  const text = typeof format === "number" ? (row) => fixed(value(row), format) : (row) => format(value(row));
  return { id, title, align: "right", value, ...(format === null ? {} : { text }), ...more };
}

/** Create a sortable table from the options described above. */
export function table(options) {
  const grid = { options, sort: null, rows: [], drawn: 0, body: h("tbody") };
  const { columns, caption } = options;
  grid.head = h(
    "tr",
    columns.map((column) => headerCell(column, () => pressHeader(grid, column))),
  );
  grid.showAll = h("button.quiet-button", { onclick: () => drawRows(grid, grid.rows.length) });
  grid.more = h("div.table-more", grid.showAll);
  const element = h("table", { "aria-label": caption }, h("thead", grid.head), grid.body);
  const references = options.references?.length > 0 && referencesButton(grid);
  const box = h("div.table-box", [
    h(
      "div.table-tools",
      options.tools ?? null,
      copyButton(() => tableMarkdown(columns, grid.rows)),
    ),
    scrollBox(element, caption),
    grid.more,
    references,
  ]);
  sortGrid(grid, options.sort ?? null);
  if (options.slice) return box;
  whenSeen(grid.more, () => drawRows(grid, grid.drawn + SLICE));
  window.addEventListener("beforeprint", () => box.isConnected && drawRows(grid, grid.rows.length));
  return box;
}

/** Create the button that shows and hides the rows of references. */
function referencesButton(grid) {
  const { rows, references, referencesLabel } = grid.options;
  const press = () => {
    const open = button.getAttribute("aria-expanded") === "false";
    button.setAttribute("aria-expanded", String(open));
    grid.options = { ...grid.options, rows: open ? [...rows, ...references] : rows };
    sortGrid(grid, grid.sort);
  };
  const button = h("button.quiet-button.references", { "aria-expanded": "false", onclick: press }, referencesLabel);
  return button;
}

/** Sort by a column; pressing it again reverses the order. */
function pressHeader(grid, column) {
  const again = grid.sort?.id === column.id;
  const first = column.first ? column.first === "descending" : column.align === "right";
  sortGrid(grid, { id: column.id, descending: again ? !grid.sort.descending : first });
  grid.options.onsort?.(grid.sort);
}

function sortGrid(grid, sort) {
  const { columns, rows, empty = "Nothing to show.", slice, upTo = 0 } = grid.options;
  Object.assign(grid, { sort, rows: sortedRows(columns, rows, sort), drawn: 0 });
  grid.body.replaceChildren();
  [...grid.head.children].forEach((cell, index) => {
    cell.removeAttribute("aria-sort");
    if (columns[index].id === sort?.id) cell.setAttribute("aria-sort", sort.descending ? "descending" : "ascending");
  });
  if (!rows.length) grid.body.append(h("tr", h("td.empty", { colspan: columns.length }, empty)));
  drawRows(grid, slice ?? Math.max(SLICE, upTo));
}

function drawRows(grid, upTo) {
  const slice = grid.rows.slice(grid.drawn, upTo);
  grid.body.append(...slice.map((row) => bodyRow(grid.options, row)));
  grid.drawn += slice.length;
  grid.more.hidden = grid.drawn === grid.rows.length;
  grid.showAll.textContent = `Show all ${grid.rows.length} rows`;
}

/** Make a wide table scrollable by keyboard, with a fade where columns are hidden. */
function scrollBox(element, caption) {
  const markEdges = () => {
    box.classList.toggle("hides-left", box.scrollLeft > 1);
    box.classList.toggle("hides-right", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
  };
  const box = h("div.table-scroll", { onscroll: markEdges }, element);
  const scrollable = { tabindex: "0", role: "group", "aria-label": caption };
  const watcher = new ResizeObserver(() => {
    const wide = box.scrollWidth > box.clientWidth;
    for (const [name, value] of Object.entries(scrollable))
      wide ? box.setAttribute(name, value) : box.removeAttribute(name);
    markEdges();
  });
  watcher.observe(box);
  watcher.observe(element);
  return box;
}

/** Call back each time an element comes near the screen. */
function whenSeen(element, call) {
  const watcher = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting) || element.hidden) return;
      call();
      watcher.unobserve(element); // observed again, because the element may still be in view after one slice
      watcher.observe(element);
    },
    { rootMargin: "800px" },
  );
  watcher.observe(element);
}

/** Return the rows ordered by a column: nulls last, ties in their original order. */
export function sortedRows(columns, rows, sort) {
  const column = columns.find(({ id }) => id === sort?.id);
  if (!column || column.fixed) return [...rows];
  const direction = sort.descending ? -1 : 1;
  const keyed = rows.map((row) => ({ row, key: column.value(row) }));
  keyed.sort((a, b) => {
    const [noA, noB] = [isAbsent(a.key), isAbsent(b.key)];
    return noA || noB ? Number(noA) - Number(noB) : direction * compareKeys(a.key, b.key);
  });
  return keyed.map(({ row }) => row);
}

function isAbsent(key) {
  return key === null || key === undefined || Number.isNaN(key);
}

function compareKeys(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return TEXT_ORDER.compare(String(a), String(b));
}

function headerCell(column, press) {
  const { label = column.title, fixed: isFixed, tip } = column;
  const props = { scope: "col", class: columnClass(column), title: isFixed ? tip : null };
  if (isFixed) return h("th", props, label);
  return h(
    "th",
    props,
    h("button.sort", { title: tip, onclick: press }, label, h("span.arrow", { "aria-hidden": "true" })),
  );
}

function bodyRow({ columns, rowProps, rowHref }, row) {
  const cells = columns.map((column) =>
    h(
      column.head ? "th" : "td",
      { class: columnClass(column), scope: column.head ? "row" : null },
      column.cell ? column.cell(row) : cellText(column, row),
    ),
  );
  if (!rowHref) return h("tr", rowProps?.(row) ?? null, cells);
  const follow = (event) => {
    if (event.target.closest("a, button") || String(getSelection())) return;
    if (event.ctrlKey || event.metaKey) open(rowHref(row));
    else location.hash = rowHref(row);
  };
  return h("tr.row-link", { onclick: follow }, cells);
}

function columnClass(column) {
  return [column.align, column.wide && "wide-only"].filter(Boolean).join(" ");
}

function cellText(column, row) {
  if (column.text) return column.text(row) ?? "";
  const value = column.value(row);
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : fixed(value);
  return value ?? "–";
}

/** Format the table as Markdown, in its current order. */
function tableMarkdown(columns, rows) {
  return markdownTable(
    columns.map(({ title }) => title),
    columns.map(({ align }) => align),
    rows.map((row) => columns.map((column) => cellText(column, row))),
  );
}

// A table that is sorted by its headers and copied as Markdown. Long ones are drawn in slices, as they come into sight.
//
// table({
//   columns: [{
//     id,                     name in the URL and in `sort`
//     title,                  of the header
//     label,                  optional: the Node that the header shows in the place of its title
//     value(row),             what is sorted by: number, string or null (nulls stand last, whichever way)
//     text(row),              optional: as words, for copies, and shown where there is no `cell`; numbers get 3 digits
//     cell(row),              optional: the Node (or array, or string) that is shown
//     align: "right",         optional: for numbers
//     first: "descending",    optional: the way of the first click; numbers that are right-aligned begin descending
//     fixed: true,            optional: cannot be sorted by
//     tip,                    optional: what the header says when pointed at
//     head: true,             optional: its cells are headers of their rows
//     wide: true,             optional: left out on a phone
//   }],
//   rows,                     any array; its order is the order without sorting, and decides ties
//   caption,                  what the table is, for screen readers and the copy
//   sort: {id, descending},   optional: how it is sorted at first
//   onsort({id, descending}), optional: told when a header is pressed, for the URL
//   rowProps(row),            optional: properties of the <tr>
//   empty,                    optional: sentence where there is no row
//   tools: [nodes],           optional: beside the copy button
//   upTo,                     optional: draw at least this many rows at once
//   slice,                    optional: draw this many, the others only when they are asked for, on paper neither
// }) -> <div class="table-box">, with `.sortedRows()` and `.resort({id, descending})`

import { h } from "./dom.js";
import { copyButton, markdownTable } from "./copying.js";
import { fixed } from "./format.js";

const SLICE = 120; // rows: about three screens, drawn in a few milliseconds

/** Make a sortable table; the comment on top of this module says what it takes. */
export function table(options) {
  const grid = tableParts(options);
  const { box } = grid;
  box.sortedRows = () => grid.rows;
  box.resort = (sort) => resort(grid, sort);
  box.resort(options.sort ?? null);
  if (options.slice) return box;
  whenSeen(grid.more, () => drawRows(grid, grid.drawn + SLICE));
  window.addEventListener("beforeprint", () => box.isConnected && drawRows(grid, grid.rows.length));
  return box;
}

/** Make the parts of a table that has no rows yet, with what is known of it: {options, sort, rows, drawn, box, …}. */
function tableParts(options) {
  const grid = { options, sort: null, rows: [], drawn: 0, body: h("tbody") };
  const headers = options.columns.map((column) => headerCell(column, () => pressHeader(grid, column)));
  const all = () => drawRows(grid, grid.rows.length);
  grid.head = h("tr", headers);
  grid.showAll = h("button.quiet-button", { onclick: all });
  grid.more = h("div.table-more", grid.showAll);
  const copy = copyButton(() => tableMarkdown(options, grid.rows));
  grid.box = h("div.table-box", [
    h("div.table-tools", options.tools ?? null, copy),
    scrollBox(h("table", { "aria-label": options.caption }, h("thead", grid.head), grid.body), options.caption),
    grid.more,
  ]);
  return grid;
}

/** Sort by a column; the same one again turns it round. */
function pressHeader(grid, column) {
  const again = grid.sort?.id === column.id;
  resort(grid, { id: column.id, descending: again ? !grid.sort.descending : beginsDescending(column) });
  grid.options.onsort?.(grid.sort);
}

/** Draw the rows anew, in another order. */
function resort(grid, sort) {
  const { options } = grid;
  Object.assign(grid, { sort, rows: sortedRows(options.columns, options.rows, sort), drawn: 0 });
  grid.body.replaceChildren();
  markSorted(grid.head, options.columns, sort);
  if (!grid.rows.length) grid.body.append(emptyRow(options));
  drawRows(grid, options.slice ?? Math.max(SLICE, options.upTo ?? 0));
}

/** Draw the next slice of rows. */
function drawRows(grid, upTo) {
  const slice = grid.rows.slice(grid.drawn, upTo);
  grid.body.append(...slice.map((row) => bodyRow(grid.options, row)));
  grid.drawn += slice.length;
  grid.more.hidden = grid.drawn === grid.rows.length;
  grid.showAll.textContent = `Show all ${grid.rows.length} rows`;
}

/** Let a table that is too wide be scrolled, by keyboard as well; one that fits is no stop for the Tab key. */
function scrollBox(grid, caption) {
  const box = h("div.table-scroll", grid);
  new ResizeObserver(() => {
    const wide = box.scrollWidth > box.clientWidth;
    const given = { tabindex: "0", role: "group", "aria-label": caption };
    for (const [name, value] of Object.entries(given)) wide ? box.setAttribute(name, value) : box.removeAttribute(name);
  }).observe(box);
  return box;
}

/** Call back each time an element comes near the screen. */
function whenSeen(element, call) {
  const watcher = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting) || element.hidden) return;
      call();
      watcher.unobserve(element); // watched anew, so that a slice which leaves it in sight is followed by another
      watcher.observe(element);
    },
    { rootMargin: "800px" },
  );
  watcher.observe(element);
}

/** Order rows by a column: nulls last, ties as they came. */
export function sortedRows(columns, rows, sort) {
  const column = columns.find((one) => one.id === sort?.id);
  if (!column || column.fixed) return [...rows];
  const keyed = rows.map((row, place) => ({ row, place, key: column.value(row) }));
  const way = sort.descending ? -1 : 1;
  keyed.sort((a, b) => nullsLast(a.key, b.key) ?? (way * compareKeys(a.key, b.key) || a.place - b.place));
  return keyed.map((one) => one.row);
}

/** Put what has no value behind the rest; null where both have one. */
function nullsLast(a, b) {
  const [left, right] = [isAbsent(a), isAbsent(b)];
  if (!left && !right) return null;
  return left === right ? null : Number(left) - Number(right);
}

/** Tell whether a key is no value. */
function isAbsent(key) {
  return key === null || key === undefined || Number.isNaN(key);
}

/** Compare two keys: numbers by size, all else as text with numbers in it by size. */
function compareKeys(a, b) {
  if (isAbsent(a)) return 0;
  if (typeof a === "number" && typeof b === "number") return a - b;
  return TEXT_ORDER.compare(String(a), String(b));
}

const TEXT_ORDER = new Intl.Collator("en", { numeric: true });

/** Tell which way the first press on a header sorts. */
function beginsDescending(column) {
  return column.first ? column.first === "descending" : column.align === "right";
}

/** Make the header of a column, a button where it can be sorted by. */
function headerCell(column, press) {
  const shown = column.label ?? column.title;
  const label = column.fixed
    ? shown
    : h("button.sort", { title: column.tip, onclick: press }, shown, h("span.arrow", { "aria-hidden": "true" }));
  return h("th", { scope: "col", class: columnClass(column), title: column.fixed ? column.tip : null }, label);
}

/** Name the classes of a column's cells. */
function columnClass(column) {
  return [column.align, column.wide && "wide-only"].filter(Boolean).join(" ") || null;
}

/** Show by which column the rows are sorted. */
function markSorted(head, columns, sort) {
  [...head.children].forEach((cell, place) => {
    cell.removeAttribute("aria-sort");
    if (columns[place].id === sort?.id) cell.setAttribute("aria-sort", sort.descending ? "descending" : "ascending");
  });
}

/** Draw one row. */
function bodyRow(options, row) {
  return h("tr", options.rowProps?.(row) ?? null, [
    options.columns.map((column) =>
      h(column.head ? "th" : "td", { class: columnClass(column), scope: column.head ? "row" : null }, [
        column.cell ? column.cell(row) : cellText(column, row),
      ]),
    ),
  ]);
}

/** Say that there are no rows. */
function emptyRow(options) {
  return h("tr", h("td.empty", { colspan: options.columns.length }, options.empty ?? "Nothing to show."));
}

/** Give a cell as words. */
function cellText(column, row) {
  if (column.text) return column.text(row) ?? "";
  const value = column.value(row);
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : fixed(value);
  return value ?? "–";
}

/** Write the table as Markdown, in the order that is shown. */
function tableMarkdown(options, rows) {
  const { columns } = options;
  return markdownTable(
    columns.map((one) => one.title),
    columns.map((one) => one.align),
    rows.map((row) => columns.map((one) => cellText(one, row))),
  );
}

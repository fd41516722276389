// Sorts a table by the column whose head is pressed. The th's aria-sort is the only
// state; its data-better (low or high) says which end comes first, and a cell's
// data-value what it sorts by. A cell without a value is missing and comes last.
import { say } from "./status";

type Key = number | string | undefined;

export function sortable(table: HTMLTableElement): void {
  table.classList.add("sortable"); // from here on its heads bear their signs
  for (const head of table.querySelectorAll<HTMLTableCellElement>("thead th[aria-sort]")) {
    head.querySelector("button")?.addEventListener("click", () => press(table, head));
  }
}

function press(table: HTMLTableElement, head: HTMLTableCellElement): void {
  const first = head.dataset["better"] === "high" ? "descending" : "ascending";
  const second = first === "ascending" ? "descending" : "ascending";
  const order = head.getAttribute("aria-sort") === first ? second : first;
  for (const other of table.querySelectorAll("thead th[aria-sort]")) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", order);

  arrange(table, head);
  const name = head.querySelector("button")?.textContent?.trim().replace(/\s+/g, " ") ?? "";
  say(`Sorted by ${name}, ${order}; what is missing stands last.`);
}

/** Puts a table whose figures have changed in the order that its heads still state. */
export function again(table: HTMLTableElement): void {
  const head = table.querySelector<HTMLTableCellElement>('thead th[aria-sort]:not([aria-sort="none"])');
  if (head) arrange(table, head);
}

function arrange(table: HTMLTableElement, head: HTMLTableCellElement): void {
  const order = head.getAttribute("aria-sort");
  for (const body of table.tBodies) {
    const title = body.rows[0]?.cells.length === 1 ? 1 : 0; // a group's own heading stays on top
    const rows = [...body.rows].slice(title).map((row) => ({ row, key: key(row.cells[head.cellIndex]) }));
    rows.sort((a, b) => compare(a.key, b.key, order === "ascending" ? 1 : -1));
    body.append(...rows.map((r) => r.row));
  }
}

function key(cell: HTMLTableCellElement | undefined): Key {
  if (!cell || cell.querySelector(".none")) return undefined;
  const given = cell.dataset["value"];
  const text = given ?? cell.textContent?.trim() ?? "";
  if (text === "" || text === "—") return undefined;
  const number = Number(text.replaceAll(",", ""));
  return Number.isNaN(number) ? text : number;
}

function compare(a: Key, b: Key, sign: number): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  return sign * String(a).localeCompare(String(b), "en", { numeric: true });
}

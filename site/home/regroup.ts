// The home page's table while limits hold: of each cell the best row within them, the
// nearest outside them, and the best whose percentile is not known.
import { like, prose } from "../js/format";
import { make } from "../js/make";
import type { Cell, Line, Mark } from "../js/marks";

export interface Limit {
  name: "TTFT" | "ITL" | "TPOT" | "E2E";
  permille: number;
  most: number; // ms
}

/** A limit held against a row: found at permille, the row's highest below the limit's. */
export interface Held {
  limit: Limit;
  found: number; // ms; NaN: nothing
  permille: number;
  met: boolean;
}

/** What limits leave; held, met and lower are by place in marks. */
export interface Left {
  marks: Mark[];
  ids: string[];
  held: Held[][];
  among: number[]; // rows of the reader's devices and weights
  met: number[]; // best first
  lower: number[]; // within the limits as far as their percentiles go, best first
  permille: number;
  scope: string;
}

const permilles = [500, 900, 950, 990];
// Columns of the table.
const at = { rank: 0, c: 2, perGPU: 3, bar: 4, perUser: 5, TTFT: [6, 7], ITL: [8, 9], roof: 10, date: 11 } as const;

/** Regroups table by what limits leave, and undoes it without any. */
export function regrouper(table: HTMLTableElement): (left: Left | undefined) => void {
  const built = [...table.tBodies];
  const drawn = table.querySelector<HTMLTableSectionElement>("#drawn");
  const heads = [...table.tHead!.rows[0]!.cells];
  const sorted = heads.map((h) => h.getAttribute("aria-sort"));
  const days = table.closest<HTMLElement>("[data-days]")?.dataset["days"] ?? "";
  const scale = Number(heads[at.bar]!.dataset["end"]); // where the bars' scale ends
  let added: HTMLTableSectionElement[] = [];
  return (left) => {
    for (const body of added) body.remove();
    added = [];
    for (const body of built) body.hidden = left !== undefined && body.id !== "unmeasured";
    heads.forEach((h, i) => { if (sorted[i]) h.setAttribute("aria-sort", sorted[i]); });
    const upper = left && left.permille > 500 ? left.permille : 990;
    for (const name of ["TTFT", "ITL"] as const) {
      const button = heads[at[name][1]]?.querySelector("button");
      if (button) button.textContent = `${name} p${upper / 10}`;
    }
    if (!left || !drawn) return;
    const known = (i: number) => left.held[i]!.every((h) => !Number.isNaN(h.found));
    const exact = (i: number) => left.held[i]!.every((h) => h.permille === h.limit.permille && !Number.isNaN(h.found));
    const over = (i: number) => Math.max(...left.held[i]!.map((h) => (h.met ? 0 : Number.isNaN(h.found) ? 0 : h.found / h.limit.most - 1)));
    const all = left.among;
    const outside = all.filter((i) => over(i) > 0).sort((a, b) => Number(exact(b)) - Number(exact(a)) || over(a) - over(b));
    const unknown = [...left.lower, ...all.filter((i) => !known(i) && over(i) === 0)];
    const [met, lower] = [left.met, unknown].map((places) => bestOfCells(places, left.marks)) as [number[], number[]];
    const near = bestOfCells(outside, left.marks);
    const ranks = ranked(met.map((i) => left.marks[i]!.line));
    const group = (name: string, places: number[], rank: (n: number) => string) => {
      if (places.length === 0) return;
      const title = make("th", { colSpan: heads.length, scope: "rowgroup" }, `${name} · ${left.scope}`);
      added.push(make("tbody", { className: "group" }, make("tr", {}, title),
        ...places.flatMap((i, n) => rowOf(i, rank(n), left, upper))));
    };
    group(left.held[0]?.length ? "Within your limits" : "Of your devices and weights", met, (n) => ranks[n] ?? "—");
    group("Outside your limits", near, () => "—");
    group(`Not known at p${left.permille / 10}`, lower, () => "—");
    table.tHead!.after(...added);
  };

  // rowOf is the cell's built line with another of its rows in it.
  function rowOf(i: number, rank: string, left: Left, upper: number): HTMLTableRowElement[] {
    const mark = left.marks[i]!;
    const line = mark.line;
    const model = [...drawn!.rows].find((r) => r.dataset["recipe"] === line.recipe);
    if (!model) return [];
    const row = model.cloneNode(true) as HTMLTableRowElement;
    row.dataset["row"] = left.ids[i] ?? "";
    const cells = [...row.cells];
    cells[at.rank]!.textContent = rank;
    cells[at.c]!.textContent = line.c;
    fill(cells[at.perGPU]!, line.per_gpu, make("strong", {}, line.per_gpu[0]));
    cells[at.bar]!.replaceChildren(bar(scale, mark.row[16] ?? 0, line.span));
    fill(cells[at.perUser]!, line.per_user);
    for (const name of ["TTFT", "ITL"] as const) {
      const figures = name === "TTFT" ? line.ttft : line.itl;
      [500, upper].forEach((permille, n) => {
        const cell = cells[at[name][n]!]!;
        const held = left.held[i]!.find((h) => h.limit.name === name && h.limit.permille === permille);
        latency(cell, figures, permille, held, heads[cell.cellIndex]?.querySelector(".u")?.textContent === "s" ? 1e-3 : 1);
      });
    }
    // Limits of what has no column stand under the cell's name.
    const sub = cells[1]!.querySelector(".sub");
    for (const h of left.held[i]!) {
      if (h.limit.name === "TTFT" || h.limit.name === "ITL" || Number.isNaN(h.found)) continue;
      sub?.after(make("span", { className: h.met ? "sub" : "sub warn" }, `${h.limit.name} p${h.permille / 10} ${prose(h.found)}\u00a0ms${h.met ? "" : ` ↑ over by ${prose(h.found - h.limit.most)}`}`));
    }
    fill(cells[at.roof]!, line.roof, line.over ? `${line.roof[0]} ↑` : line.roof[0]);
    cells[at.roof]!.classList.toggle("bad", line.over === true);
    cells[at.date]!.dataset["value"] = line.date;
    cells[at.date]!.querySelector(".old")?.remove();
    if (line.old) cells[at.date]!.append(make("span", { className: "ci warn old" }, `over ${days} days old`));
    const link = cells[at.date]!.querySelector("a");
    if (link) {
      link.href = mark.address;
      link.textContent = line.date;
    }
    return [row];
  }
}

// latency writes one percentile; of a limited one by how much it is over, or the lower
// percentile that the limit was held to.
function latency(cell: HTMLTableCellElement, figures: Cell[], permille: number, held: Held | undefined, scale: number): void {
  const found = held && !Number.isNaN(held.found) ? held.permille : permille;
  const figure = figures[permilles.indexOf(found)] ?? ["", ""];
  const lower = found === permille ? "" : ` (p${found / 10})`;
  if (!held || held.met || Number.isNaN(held.found)) {
    fill(cell, figure, figure[0] + lower);
    return;
  }
  fill(cell, [figure[0], `over by ${like(figure[0], (held.found - held.limit.most) * scale)}`], make("span", { className: "warn" }, `${figure[0]} ↑${lower}`));
}

// fill writes a figure over its interval, or the dash of a missing one.
function fill(cell: HTMLTableCellElement, [figure, interval]: Cell, shown: Node | string = figure): void {
  if (figure === "") {
    delete cell.dataset["value"];
    cell.replaceChildren(make("span", { className: "none" }, make("span", { ariaHidden: "true" }, "—"), make("span", { className: "vh" }, "too few samples")));
    return;
  }
  cell.dataset["value"] = figure.replaceAll(",", "");
  cell.replaceChildren(shown, ...(interval ? [" ", make("span", { className: "ci" }, interval)] : []));
}

// bestOfCells keeps the first row of each cell.
function bestOfCells(places: number[], marks: Mark[]): number[] {
  const seen = new Set<string>();
  return places.filter((i) => {
    const { recipe } = marks[i]!.line;
    return !seen.has(recipe) && seen.add(recipe);
  });
}

// ranked gives ranks as the built table does: a row shares its group's while their
// intervals overlap, and one without an interval has none.
function ranked(lines: Line[]): string[] {
  const ranks = lines.map(() => "—");
  let group: number[] = [];
  let place = 0;
  let floor = 0; // where the interval of the group's first begins
  const close = () => {
    for (const i of group) ranks[i] = `${place - group.length + 1}${group.length > 1 ? "=" : ""}`;
    group = [];
  };
  lines.forEach((line, i) => {
    const [lo, hi] = line.span;
    if (lo === undefined || hi === undefined) return;
    if (group.length > 0 && hi < floor) close();
    if (group.length === 0) floor = lo;
    place++;
    group.push(i);
  });
  close();
  return ranks;
}

// bar is the in-row bar, as internal/render/chart draws it.
function bar(scale: number, value: number, [lo, hi]: number[]): SVGElement {
  const el = (name: string, attributes: Record<string, string>) => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, v] of Object.entries(attributes)) e.setAttribute(key, v);
    return e;
  };
  const percent = (v: number) => `${Math.min(v / scale, 1) * 100}%`;
  const svg = el("svg", { class: "bar", width: "100%", height: "12", "aria-hidden": "true" });
  svg.append(el("rect", { width: percent(value), y: "8%", height: "84%", fill: "var(--bar)" }));
  if (lo === undefined || hi === undefined) return svg;
  const line = (x1: number, x2: number, y1: string, y2: string) => svg.append(el("line", { x1: percent(x1), x2: percent(x2), y1, y2, stroke: "var(--ink)", "stroke-width": "1.6" }));
  line(lo, hi, "50%", "50%");
  line(lo, lo, "25%", "75%");
  line(hi, hi, "25%", "75%");
  return svg;
}

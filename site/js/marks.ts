// Makes the marks of a built chart answer to pointer, focus and keys: each tells its row
// in a tooltip and opens its page. What it says stands in the page's tables too.

/** What the page's JSON says of one row (render's mark). */
export interface Mark {
  name: string; // the cell
  load: string; // such as c = 64
  verdict: string;
  address: string; // of the row's page
  row: (number | null)[]; // what limits are held against: see choose in lean.d.ts
  gpus: number;
  dtype: string; // of the weights
  total: (number | null)[]; // input and output tok/s of one GPU
  joules?: string; // an output token
  report: string; // the row's files, and its place in the report
  samples: string;
  index: number;
  line: Line;
}

/** A figure and its interval as written; both empty where it is missing. */
export type Cell = [string, string];

/** The row in the columns of the home page's table; latencies at p50, p90, p95, p99. */
export interface Line {
  recipe: string;
  c: string;
  per_gpu: Cell;
  span: number[]; // the interval of output tok/s/GPU; empty of a single repeat
  per_user: Cell;
  ttft: Cell[];
  itl: Cell[];
  roof: Cell;
  over?: boolean; // above the hard roof
  date: string;
  old?: boolean; // measured long before the newest row
}

/** What a mark tells: of a row, or of any place of a chart that has a page. */
export interface Told {
  title: string;
  lines: string[];
  verdict: string;
  address: string;
}

/** What a row's mark tells. */
export function told(mark: Mark): Told {
  return { title: `${mark.name}, ${mark.load}`, lines: figures(mark), verdict: mark.verdict, address: mark.address };
}

/**
 * Brings the marks of every drawing inside chart to life: each bears its key as data-row,
 * and the cell whose series it belongs to as data-cell.
 */
export function explain(chart: HTMLElement, marks: Record<string, Told> | Told[]): void {
  const all = new Map(Object.entries(marks));
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  chart.append(tip);
  let leaving: ReturnType<typeof setTimeout> | undefined;

  const hide = () => { tip.hidden = true; };
  const leave = () => { leaving = setTimeout(hide, 200); };
  tip.addEventListener("pointerenter", () => clearTimeout(leaving));
  tip.addEventListener("pointerleave", leave);
  closing.set(chart, hide);

  for (const drawing of chart.querySelectorAll<SVGSVGElement>("svg")) {
    const drawn = [...drawing.querySelectorAll<SVGElement>("[data-row]")].filter((m) => all.has(m.dataset["row"] ?? ""));
    if (drawn.length === 0) continue;
    drawing.setAttribute("role", "group"); // its marks can now be reached, one by one
    const series = [...new Set(drawn.map((m) => m.dataset["cell"]))].map((cell) => drawn.filter((m) => m.dataset["cell"] === cell));
    for (const element of drawn) {
      const mark = all.get(element.dataset["row"] ?? "");
      if (!mark) continue;
      element.setAttribute("role", "link");
      element.setAttribute("tabindex", element === drawn[0] ? "0" : "-1");
      element.setAttribute("aria-label", [mark.title, ...mark.lines, mark.verdict].join("; "));
      const show = () => {
        clearTimeout(leaving);
        fill(tip, mark);
        place(tip, element, chart);
      };
      for (const target of [element, around(element)]) {
        target.addEventListener("pointerenter", show);
        target.addEventListener("pointerleave", leave);
        target.addEventListener("click", show); // a tap
      }
      element.addEventListener("focus", show);
      element.addEventListener("blur", leave);
      element.addEventListener("keydown", (event) => {
        if (event.key === "Enter") location.assign(mark.address);
        const next = neighbour(series, element, event.key);
        if (!next) return;
        event.preventDefault();
        for (const m of drawn) m.setAttribute("tabindex", m === next ? "0" : "-1");
        next.focus();
      });
    }
  }
}

// closing holds what Escape does to each chart; one that is drawn anew has one tooltip.
const closing = new Map<HTMLElement, () => void>();
document.addEventListener("keydown", (event) => { if (event.key === "Escape") for (const hide of closing.values()) hide(); });

// around is an unseen disc that makes a small mark easy to hit. It lies below every mark
// of its group, so that it takes nothing from a neighbour.
function around(mark: SVGElement): SVGElement {
  const disc = document.createElementNS("http://www.w3.org/2000/svg", "circle");
  for (const [name, value] of Object.entries({ class: "hit", r: "12", fill: "none", stroke: "none", transform: mark.getAttribute("transform") ?? "" })) disc.setAttribute(name, value);
  mark.parentElement?.prepend(disc);
  return disc;
}

// neighbour is the mark that an arrow leads to: left and right along a series, up and
// down to the same place in the next one.
function neighbour(series: SVGElement[][], from: SVGElement, key: string): SVGElement | undefined {
  const line = series.findIndex((s) => s.includes(from));
  const at = series[line]?.indexOf(from) ?? 0;
  switch (key) {
    case "ArrowLeft": return series[line]?.[at - 1];
    case "ArrowRight": return series[line]?.[at + 1];
    case "ArrowUp": return near(series[line - 1], at);
    case "ArrowDown": return near(series[line + 1], at);
    default: return undefined;
  }
}

function near(series: SVGElement[] | undefined, at: number): SVGElement | undefined {
  return series?.[Math.min(at, series.length - 1)];
}

function fill(tip: HTMLElement, mark: Told): void {
  const name = document.createElement("strong");
  name.textContent = mark.title;
  const link = document.createElement("a");
  link.href = mark.address;
  link.textContent = `${mark.verdict}: the row`;
  tip.replaceChildren(name, ...mark.lines.map(line), link);
}

// figures of a mark, each with its unit and interval.
function figures({ line }: Mark): string[] {
  const said = ([figure, interval]: Cell, unit: string) => `${figure}\u00a0${unit}${interval ? ` (${interval})` : ""}`;
  return [said(line.per_user, "tok/s per user, median"), said(line.per_gpu, "output tok/s/GPU")];
}

function line(text: string): HTMLElement {
  const p = document.createElement("p");
  p.textContent = text;
  return p;
}

// place puts the tooltip above its mark, or below where there is no room, inside the
// window.
function place(tip: HTMLElement, mark: Element, chart: HTMLElement): void {
  tip.hidden = false;
  const at = mark.getBoundingClientRect();
  const home = chart.getBoundingClientRect();
  const size = tip.getBoundingClientRect();
  const left = Math.max(8, Math.min(at.left + at.width / 2 - size.width / 2, document.documentElement.clientWidth - size.width - 8));
  const above = at.top - size.height - 8;
  tip.style.left = `${left - home.left}px`;
  tip.style.top = `${(above > 0 ? above : at.bottom + 8) - home.top}px`;
}

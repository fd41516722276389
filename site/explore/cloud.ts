// The scatter of the rows: tok/s/user against tok/s/GPU, with the front of each model,
// weight format and shape. The module says which rows are on a front.
import { at, axisName, base, colour, drawing, el, grid, linear, logarithmic, margin, px, textWidth, tick, type Slot, type Width } from "../js/draw";
import { count } from "../js/format";
import type { Lean } from "../js/lean";
import type { Table } from "./select";
import type { State } from "./state";

export interface Front {
  name: string;
  slot: number; // 0: beyond those that can be told apart
  rows: number[]; // on it, by tok/s/user
  of: number; // rows it is of
}

/** Most rows that are marks of their own; the rest are drawn as context. */
const mostMarks = 300;

/** The fronts of some rows, those of most rows first. */
export function fronts(module: Lean, t: Table, of: number[], slots: number): Front[] {
  const [x, y] = [t.figures.get("user")!, t.figures.get("gpu")!];
  const groups = new Map<string, number[]>();
  for (const i of of) {
    if (Number.isNaN(x[3 * i]!) || Number.isNaN(y[3 * i]!)) continue;
    const r = t.rows.recipes[t.rows.recipe[i]!]!;
    const name = `${r.names[0]} · ${r.dtype} · ${t.rows.shapes[t.rows.shape[i]!]!}`;
    const group = groups.get(name);
    if (group) group.push(i);
    else groups.set(name, [i]);
  }
  return [...groups].sort((a, b) => b[1].length - a[1].length || a[0].localeCompare(b[0])).map(([name, rows], n) => {
    const on = module.front(rows.map((i) => [x[3 * i]!, y[3 * i]!] as const));
    return { name, slot: n < slots ? n + 1 : 0, of: rows.length, rows: rows.filter((_, k) => on[k]).sort((a, b) => x[3 * a]! - x[3 * b]!) };
  });
}

/** Draws them at one width; marked are the rows that are marks of their own. */
export function cloud(t: Table, of: number[], all: Front[], s: State, slots: readonly Slot[], width: Width): { svg: SVGElement; marked: number[]; log: boolean } {
  const [xs, ys] = [t.figures.get("user")!, t.figures.get("gpu")!];
  const known = of.filter((i) => !Number.isNaN(xs[3 * i]!) && !Number.isNaN(ys[3 * i]!));
  const height = width === 720 ? 440 : 320;
  const svg = drawing(width, height, `Tok/s per user against output tok/s per GPU of ${count(known.length)} rows, with ${count(all.length)} fronts`);
  let [x0, x1, y0, y1] = [Infinity, 0, Infinity, 0];
  for (const i of known) {
    [x0, x1] = [Math.min(x0, xs[3 * i]!), Math.max(x1, xs[3 * i]!)];
    [y0, y1] = [Math.min(y0, ys[3 * i]!), Math.max(y1, ys[3 * i]!)];
  }
  const ticks = width === 720 ? 6 : 3;
  const log = known.length > 0 && x0 > 0 && y0 > 0 && (s.axes === "log" || s.axes === "" && (x1 > 50 * x0 || y1 > 50 * y0));
  if (known.length === 0) return { svg, marked: [], log };
  const x = log ? logarithmic(x0, x1, ticks) : linear(x1, ticks);
  const y = log ? logarithmic(y0, y1, ticks) : linear(y1, ticks);
  [y.from, y.to] = [height - 44, 26];
  [x.from, x.to] = [margin(y, ""), width - Math.ceil(textWidth(tick(x, x.max), 400) / 2) - 3];
  const place = (i: number): [number, number] => [at(x, xs[3 * i]!), at(y, ys[3 * i]!)];
  svg.append(...grid(y, x, ""), ...base(x, y), axisName(`↑ output tok/s per GPU${log ? ", log" : ""}`, 0, 12, "start"), axisName(`tok/s per user, median${log ? ", log" : ""} →`, width, height - 6, "end"));

  const onFront = new Map(all.flatMap((f) => f.rows.map((i) => [i, f] as const)));
  const marked = known.length <= mostMarks ? known : [...onFront.keys()].slice(0, mostMarks);
  const own = new Set(marked);
  // One path for all the context: a point of a round pen each.
  const context = known.filter((i) => !own.has(i)).map((i) => `M${place(i).map(px).join(" ")}h0`).join("");
  if (context) svg.append(el("path", { class: "rest", d: context, stroke: colour(0), "stroke-width": "3", "stroke-linecap": "round", fill: "none" }));
  const lines = el("g", { fill: "none", "stroke-width": "1.6" });
  const marks = el("g", { stroke: "var(--bg)", "stroke-width": "1.2" });
  for (const f of [...all].reverse()) {
    if (f.rows.length === 0) continue;
    const at = f.rows.map(place);
    const d = at.map(([px1, py1], i) => (i === 0 ? `M${px(x.from)} ${px(py1)}H${px(px1)}` : `V${px(py1)}H${px(px1)}`)).join("");
    lines.append(el("path", { class: "front", d: `${d}V${px(y.from)}`, stroke: colour(f.slot), "stroke-dasharray": slots[f.slot]?.dash ?? "" }));
  }
  for (const i of marked) {
    const f = onFront.get(i);
    const [mx, my] = place(i);
    marks.append(el("path", { d: slots[f?.slot ?? 0]?.mark ?? "", transform: `translate(${px(mx)} ${px(my)})${f ? "" : " scale(.7)"}`, fill: colour(f?.slot ?? 0), "data-row": t.rows.ids[i]!, "data-cell": t.rows.recipes[t.rows.recipe[i]!]!.code }));
  }
  svg.append(lines, marks);
  return { svg, marked, log };
}

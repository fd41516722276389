// The compared ladders as a chart: a metric over concurrency, and below it each ÷ the
// reference, where a crossing shows.
import { at, axisName, base, between, colour, drawing, el, grid, label, linear, logarithmic, margin, px, spread, textWidth, type Scale, type Slot, type Width } from "../js/draw";
import { prose } from "../js/format";

export interface Point {
  row: string;
  x: number;
  y: number;
  lo: number; // NaN: no interval
  hi: number;
}

export interface Series {
  cell: string;
  name: string;
  slot: number;
  points: Point[];
  ratios: Point[]; // none of the reference
}

export interface Ladder {
  label: string; // for those who do not see it
  yName: string;
  ratioName: string;
  series: Series[];
  crossings: { slot: number; at: number; lo: number; hi: number; text: string }[];
}

const top = 26;
const mid = 48;
const low = 110;
const foot = 44;

/** Draws it at one width. */
export function ladder(l: Ladder, slots: readonly Slot[], width: Width): SVGElement {
  const upper = width === 296 ? 170 : 230;
  const height = top + upper + mid + low + foot;
  const svg = drawing(width, height, l.label);
  const all = l.series.flatMap((s) => s.points);
  if (all.length === 0) return svg;
  const xs = [...new Set(all.map((p) => p.x))].sort((a, b) => a - b);
  const [first = 1, last = 1] = [xs[0], xs.at(-1)];
  const x: Scale = { min: first / 1.1, max: last * 1.1, log: true, ticks: width === 296 && xs.length > 3 ? [first, xs[(xs.length - 1) >> 1]!, last] : xs, from: 0, to: 0 };
  const [least, most] = reach(all);
  const ticks = width === 296 ? 3 : 6;
  const y = least > 0 && most > 20 * least ? logarithmic(least, most, ticks) : linear(most, ticks);
  const [low1, high1] = reach(l.series.flatMap((s) => s.ratios));
  const r = between(Math.min(low1, 0.9), Math.max(high1, 1.1), width === 296 ? 4 : 6);
  if (!r.ticks.some((v) => Math.abs(v - 1) < 1e-9)) r.ticks = [r.min, 1, r.max];
  x.from = Math.max(margin(y, ""), margin(r, "×"));
  const ends = l.series.filter((s) => s.points.length > 0).slice(0, 4)
    .map((s) => ({ text: `${s.name} ${prose(s.points.at(-1)!.y)}`, y: s.points.at(-1)!.y })).sort((a, b) => b.y - a.y);
  x.to = width - 14;
  const beside = Math.max(0, ...ends.map((e) => textWidth(e.text, 600)));
  const named = width === 720 && beside < 230; // longer names stand in the key alone
  if (named) x.to = Math.min(x.to, width - beside - 10);
  [y.to, y.from] = [top, top + upper];
  r.to = y.from + mid;
  r.from = r.to + low;

  svg.append(...grid(y, x, ""), ...grid(r, x, "×"));
  svg.append(axisName(l.yName + (y.log ? ", log" : ""), 0, 12, "start"), axisName(l.ratioName, 0, y.from + 20, "start"), axisName("concurrency, log", Math.min(width, x.to + 10), height - 6, "end"));
  const bands = el("g", {});
  svg.append(bands, el("path", { class: "unit", d: `M${px(x.from)} ${px(at(r, 1))}H${px(x.to)}`, stroke: "var(--ink)", "stroke-width": "1.3" }), ...base(x, r));
  const lines = el("g", { fill: "none" });
  const marks = el("g", { stroke: "var(--bg)", "stroke-width": "1.2" });
  for (const s of [...l.series].reverse()) { // the first lies on top
    for (const [of, scale] of [[s.points, y], [s.ratios, r]] as const) {
      const place = (p: Point, v: number) => `${px(at(x, p.x))} ${px(Math.min(Math.max(at(scale, v), scale.to), scale.from))}`;
      if (of.length > 0) lines.append(el("path", { class: "series", d: `M${of.map((p) => place(p, p.y)).join("L")}`, stroke: colour(s.slot), "stroke-width": "2", "stroke-dasharray": slots[s.slot]?.dash ?? "" }));
      const whiskers = of.filter((p) => !Number.isNaN(p.lo)).map((p) => `M${place(p, p.lo)}L${place(p, p.hi)}`).join("");
      if (whiskers) lines.append(el("path", { class: "ci", d: whiskers, stroke: colour(s.slot), "stroke-width": "1.6", opacity: ".75" }));
      for (const p of of) marks.append(el("path", { d: slots[s.slot]?.mark ?? "", transform: `translate(${place(p, p.y)})`, fill: colour(s.slot), "data-row": p.row, "data-cell": s.cell, "data-c": p.x }));
    }
  }
  svg.append(lines, marks);
  if (named) spread(ends.map((e) => at(y, e.y)), top, y.from).forEach((p, i) => svg.append(label(ends[i]!.text, x.to + 10, p + 4, "start")));

  const taken: [number, number, number][] = [[0, textWidth(l.ratioName, 600) + 6, r.to - 28]];
  for (const c of l.crossings) {
    const [from, here, to] = [at(x, Math.max(c.lo, x.min)), at(x, c.at), at(x, Math.min(c.hi, x.max))];
    bands.append(el("rect", { class: "band", x: from, y: r.to, width: to - from, height: low, fill: colour(c.slot), "fill-opacity": ".16" }),
      el("line", { class: "crossover", x1: here, x2: here, y1: r.to, y2: r.from, stroke: colour(c.slot), "stroke-width": "1.6" }));
    const text = width === 720 ? c.text : prose(Math.round(c.at));
    const half = textWidth(text, 600) / 2 + 4;
    const middle = Math.min(Math.max(here, half), width - half);
    const row = [r.to - 6, r.to - 21].find((y0) => !taken.some(([a, b, at]) => Math.abs(at - y0) < 14 && middle - half < b && a < middle + half));
    if (row === undefined) continue; // the sentences have it
    taken.push([middle - half, middle + half, row]);
    svg.append(label(text, middle, row, "middle"));
  }
  return svg;
}

function reach(points: Point[]): [number, number] {
  const lo = points.flatMap((p) => (Number.isNaN(p.lo) ? [p.y] : [p.y, p.lo]));
  const hi = points.flatMap((p) => (Number.isNaN(p.hi) ? [p.y] : [p.y, p.hi]));
  return [Math.min(...lo), Math.max(...hi)];
}

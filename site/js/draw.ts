// Charts that a reader asks for, in the manner of those that are built: SVG elements in
// the page's own tokens, at the two widths that a figure switches between.
import { fixed } from "./format";

/** How a slot's series is told from others besides its colour. */
export interface Slot {
  mark: string; // path around 0,0
  dash: string;
}

export const widths = [296, 720] as const;
export type Width = (typeof widths)[number];

/** An SVG element. */
export function el(name: string, attributes: Record<string, string | number>, ...children: (Node | string)[]): SVGElement {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, v] of Object.entries(attributes)) if (v !== "") e.setAttribute(key, typeof v === "number" ? px(v) : v);
  e.append(...children);
  return e;
}

/** The drawing itself, named for those who do not see it. */
export function drawing(width: Width, height: number, label: string): SVGElement {
  return el("svg", { class: width === 296 ? "narrow" : "wide", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
}

export function px(v: number): string {
  return String(Math.round(v * 10) / 10);
}

/** Maps data to px along one axis. */
export interface Scale {
  min: number;
  max: number;
  log: boolean;
  ticks: number[];
  from: number; // px at min
  to: number; // px at max
}

export function at(s: Scale, v: number): number {
  const share = s.log ? Math.log(v / s.min) / Math.log(s.max / s.min) : (v - s.min) / (s.max - s.min);
  return s.from + share * (s.to - s.from);
}

/** A tick as written: as many decimals as tell it from its neighbour. */
export function tick(s: Scale, v: number): string {
  let step = s.log ? v : (s.ticks[1] ?? s.max) - (s.ticks[0] ?? 0);
  let d = 0;
  for (; d < 6 && Math.abs(step - Math.round(step)) > 1e-9 * Math.abs(step); d++) step *= 10;
  return fixed(v, d);
}

// nice is the least 1, 2 or 5 × 10ⁿ at or above v.
function nice(v: number): number {
  const p = 10 ** Math.floor(Math.log10(v));
  return [1, 2, 5, 10].map((m) => m * p).find((n) => v <= n * (1 + 1e-9)) ?? 10 * p;
}

/** From a step at or below least to one at or above greatest, with at most n ticks. */
export function between(least: number, greatest: number, n: number): Scale {
  let step = nice((greatest - least || Math.abs(greatest) || 1) / 1e3);
  const ends = (): [number, number] => [Math.floor(least / step + 1e-9), Math.ceil(greatest / step - 1e-9)];
  let [lo, hi] = ends();
  while (hi - lo + 1 > n) {
    step = nice(step * 1.5);
    [lo, hi] = ends();
  }
  const ticks = Array.from({ length: hi - lo + 1 }, (_, i) => (lo + i) * step);
  return { min: lo * step, max: hi * step, log: false, ticks, from: 0, to: 0 };
}

/** From 0. */
export function linear(greatest: number, n: number): Scale {
  return between(0, greatest > 0 ? greatest : 1, n);
}

/** Between steps of 1–3–10, with at most n ticks. */
export function logarithmic(least: number, greatest: number, n: number): Scale {
  const third = (k: number) => (k & 1 ? 3 : 1) * 10 ** (k >> 1);
  let i = Math.floor(2 * Math.log10(least)) - 1;
  while (third(i + 1) <= least * (1 + 1e-9)) i++;
  let j = i + 1;
  while (third(j) < greatest * (1 - 1e-9)) j++;
  const all = Array.from({ length: j - i + 1 }, (_, k) => i + k);
  let ticks = all;
  for (let every = 1; ticks.length > n; every++) ticks = all.filter((k) => k % (2 * every) === 0);
  return { min: third(i), max: third(j), log: true, ticks: ticks.map(third), from: 0, to: 0 };
}

let pen: CanvasRenderingContext2D | null | undefined;

/** How wide a text of a chart is, in px. */
export function textWidth(text: string, weight: 400 | 600): number {
  pen ??= document.createElement("canvas").getContext("2d");
  if (!pen) return 8 * text.length;
  pen.font = `${weight} 12px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}

/** An axis' name, upright at its end. */
export function axisName(text: string, x: number, y: number, anchor: "start" | "end"): SVGElement {
  return el("text", { class: "name", x, y, "text-anchor": anchor, fill: "var(--ink)", "font-weight": "600", "font-size": "12" }, text);
}

/** A direct label: ink with a halo of the ground. */
export function label(text: string, x: number, y: number, anchor: "start" | "middle" | "end"): SVGElement {
  return el("text", { class: "label", x, y, "text-anchor": anchor, fill: "var(--ink)", "font-weight": "600", "font-size": "12", stroke: "var(--bg)", "stroke-width": "4", "stroke-linejoin": "round", "paint-order": "stroke" }, text);
}

/** Grid lines with their ticks left of them. */
export function grid(y: Scale, x: Scale, unit: string): SVGElement[] {
  return y.ticks.flatMap((v) => [
    el("path", { d: `M${px(x.from)} ${px(at(y, v))}H${px(x.to)}`, stroke: "var(--grid)" }),
    el("text", { x: x.from - 6, y: at(y, v) + 4, "text-anchor": "end", "font-size": "12" }, tick(y, v) + unit),
  ]);
}

/** The line of x with its ticks below it; one that would touch the one before is left out. */
export function base(x: Scale, y: Scale): SVGElement[] {
  let taken = -Infinity;
  const numbers = x.ticks.flatMap((v) => {
    const text = tick(x, v);
    const half = textWidth(text, 400) / 2;
    if (at(x, v) - half < taken + 6) return [];
    taken = at(x, v) + half;
    return [el("text", { x: at(x, v), y: y.from + 17, "text-anchor": "middle", "font-size": "12" }, text)];
  });
  return [el("path", { d: `M${px(x.from)} ${px(y.from)}H${px(x.to)}`, stroke: "var(--edge)" }), ...numbers];
}

/** Room for the ticks left of an axis. */
export function margin(y: Scale, unit: string): number {
  return Math.ceil(Math.max(...y.ticks.map((v) => textWidth(tick(y, v) + unit, 400)))) + 8;
}

/** A series' colour; slot 0 is context. */
export function colour(slot: number): string {
  return slot > 0 ? `var(--c${slot})` : "var(--rest)";
}

/** A key: a line with its dash and its mark. */
export function swatch(slots: readonly Slot[], slot: number): SVGElement {
  const of = slots[slot] ?? slots[0]!;
  return el("svg", { class: "swatch", width: 24, height: 12, viewBox: "0 0 24 12", "aria-hidden": "true" },
    el("path", { d: "M0 6H24", stroke: colour(slot), "stroke-width": "2", "stroke-dasharray": of.dash, fill: "none" }),
    el("path", { class: "mark", d: of.mark, transform: "translate(12 6)", fill: colour(slot), stroke: "var(--bg)", "stroke-width": "1.2" }));
}

/** Y of labels that lie as near their places as they can while they keep apart, from the top down. */
export function spread(places: number[], top: number, bottom: number): number[] {
  const apart = 15;
  const out: number[] = [];
  for (const p of places) out.push(Math.max(p, (out.at(-1) ?? top - apart) + apart));
  for (let i = out.length - 1, limit = bottom; i >= 0; i--) {
    out[i] = Math.min(out[i]!, limit);
    limit = out[i]! - apart;
  }
  return out;
}

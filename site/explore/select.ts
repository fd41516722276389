// Which rows a state asks for, in which order.
import { filters, limited, valueOf, type Filter, type Rows, type State } from "./state";

/** A figure of every row, and what each row has of each filter: made once. */
export interface Table {
  rows: Rows;
  figures: Map<string, Float64Array>; // NaN: not known; three a row
  parts: Map<Filter, string[]>;
}

export function tableOf(rows: Rows): Table {
  const figures = new Map(Object.entries(rows.figures).map(([key, of]) => [key, Float64Array.from(of, (v) => v ?? NaN)]));
  figures.set("c", Float64Array.from(rows.c.flatMap((v) => [v, NaN, NaN])));
  figures.set("date", Float64Array.from(rows.date.flatMap((v) => [Date.parse(v), NaN, NaN])));
  const parts = new Map(filters.map((f) => {
    const by = new Map<number, string>(); // a part is its recipe's, but for the shape
    return [f, rows.ids.map((_, i) => {
      const at = f === "shape" ? -1 - rows.shape[i]! : rows.recipe[i]!;
      const known = by.get(at) ?? valueOf(rows, i, f);
      by.set(at, known);
      return known;
    })];
  }));
  return { rows, figures, parts };
}

/** Rows within filters and limits, in the file's order. */
export function within(t: Table, s: State): number[] {
  const only = filters.flatMap((f) => (s.only[f] === undefined ? [] : [{ of: t.parts.get(f)!, want: s.only[f] }]));
  const most = limited.flatMap((f) => {
    const v = Number((s.most[f] ?? "").replaceAll(",", ""));
    return s.most[f] && v > 0 ? [{ of: t.figures.get(f)!, v }] : [];
  });
  const out: number[] = [];
  for (let i = 0; i < t.rows.ids.length; i++) {
    if (only.every((o) => o.of[i] === o.want) && most.every((m) => m.of[3 * i]! <= m.v)) out.push(i);
  }
  return out;
}

/** In the order asked for; what is missing stands last, whichever the direction. */
export function sorted(t: Table, of: number[], s: State): number[] {
  const keys = s.sort.flatMap((k) => {
    const values = t.figures.get(k.key);
    return values ? [{ values, sign: k.down ? -1 : 1 }] : [];
  });
  return [...of].sort((a, b) => {
    for (const { values, sign } of keys) {
      const [v, w] = [values[3 * a]!, values[3 * b]!];
      if (v === w) continue;
      if (Number.isNaN(v) || Number.isNaN(w)) {
        if (Number.isNaN(v) && Number.isNaN(w)) continue;
        return Number.isNaN(v) ? 1 : -1;
      }
      return sign * (v - w);
    }
    return a - b;
  });
}

/** Of each recipe and shape the first. */
export function bestOf(t: Table, order: number[]): number[] {
  const seen = new Set<number>();
  const n = t.rows.shapes.length;
  return order.filter((i) => {
    const at = t.rows.recipe[i]! * n + t.rows.shape[i]!;
    return !seen.has(at) && seen.add(at);
  });
}

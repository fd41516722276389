// The rows as a table, a page of them, and as a pivot.
import { decimals, fixed, interval } from "../js/format";
import { make } from "../js/make";
import type { Table } from "./select";
import { nameOf, type Column, type Data, type State } from "./state";

export const pageRows = 50;

/** How each figure is written: the same decimals and unit for a column, whatever is filtered. */
export type Forms = Map<string, { digits: number; scale: number; unit: string }>;

export function formsOf(t: Table, columns: Column[]): Forms {
  return new Map(columns.map((c) => {
    const values = [...t.figures.get(c.key)!].filter((v, i) => i % 3 === 0 && !Number.isNaN(v));
    const middle = [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
    const scale = c.unit === "ms" && middle >= 10_000 ? 1e-3 : 1;
    return [c.key, { digits: decimals(values.map((v) => v * scale)), scale, unit: scale === 1 ? c.unit : "s" }];
  }));
}

/** A figure of a row as written, and its interval; "" where it is missing. */
export function written(t: Table, forms: Forms, i: number, key: string): [string, string] {
  const f = t.figures.get(key)!;
  const form = forms.get(key);
  const [v, lo, hi] = [f[3 * i]!, f[3 * i + 1]!, f[3 * i + 2]!];
  if (Number.isNaN(v) || !form) return ["", ""];
  return [fixed(v * form.scale, form.digits), Number.isNaN(lo) ? "" : interval(lo * form.scale, hi * form.scale, form.digits)];
}

function figure(t: Table, forms: Forms, i: number, key: string): HTMLTableCellElement {
  const [v, iv] = written(t, forms, i, key);
  const td = make("td", { className: "n" });
  if (v === "") td.append(make("span", { className: "none" }, make("span", { ariaHidden: "true" }, "—"), make("span", { className: "vh" }, "too few samples, or not measured")));
  else td.append(v, ...(iv ? [" ", make("span", { className: "ci" }, iv)] : []));
  return td;
}

/** A page of rows. sort is called with a column's key and whether it comes after the others. */
export function tableOfRows(t: Table, forms: Forms, page: number[], s: State, data: Data, base: string, sort: (key: string, then: boolean) => void, pin: (code: string, on: boolean) => void): HTMLTableElement {
  const shown = data.columns.filter((c) => s.columns.includes(c.key));
  const head = (key: string, name: string, unit: string, className: string): HTMLTableCellElement => {
    const place = s.sort.findIndex((k) => k.key === key);
    const button = make("button", { type: "button" }, name);
    button.dataset["key"] = key;
    button.addEventListener("click", (event) => { sort(key, event.shiftKey); });
    const th = make("th", { scope: "col", className }, button);
    // One column bears the state; those after it say their place.
    th.setAttribute("aria-sort", place !== 0 ? "none" : s.sort[0]!.down ? "descending" : "ascending");
    if (place > 0) th.append(" ", make("span", { className: "order" }, `${place + 1} ${s.sort[place]!.down ? "▼" : "▲"}`));
    if (unit) th.append(make("span", { className: "u" }, unit));
    return th;
  };
  const heads = make("tr", {}, make("th", { scope: "col", className: "first" }, "Cell"), make("th", { scope: "col" }, "ISL:OSL"), head("c", "c", "", "n"),
    ...shown.map((c) => head(c.key, c.name, forms.get(c.key)?.unit ?? c.unit, "n")), head("date", "Measured", "", ""), make("th", { scope: "col" }, "Compare"));
  const lines = page.map((i) => {
    const r = t.rows.recipes[t.rows.recipe[i]!]!;
    const box = make("input", { type: "checkbox", checked: s.pins.includes(r.code) });
    box.addEventListener("change", () => { pin(r.code, box.checked); });
    const name = r.names.slice(0, 3).join(" · ");
    return make("tr", {},
      make("th", { scope: "row" }, make("a", { href: r.address }, name), make("span", { className: "sub" }, `${t.rows.engine[i]!} · ${r.dtype}`)),
      make("td", {}, t.rows.shapes[t.rows.shape[i]!]!), make("td", { className: "n" }, fixed(t.rows.c[i]!, 0)),
      ...shown.map((c) => figure(t, forms, i, c.key)),
      make("td", {}, make("a", { href: `${base}r/${t.rows.ids[i]!}/` }, t.rows.date[i]!), ...(t.rows.date[i]! < data.old ? [" ", make("span", { className: "ci warn" }, `over ${data.days} days old`)] : [])),
      make("td", {}, make("label", {}, box, make("span", { className: "vh" }, `Pin ${name}, ${r.names[3]}`))));
  });
  const table = make("table", { className: "cells sortable" }, make("thead", {}, heads), make("tbody", {}, ...lines));
  return table;
}

/** Each cell of model, shape and the other part against target or strategy: its first row. */
export function pivotOf(t: Table, forms: Forms, order: number[], s: State, column: Column, base: string): HTMLTableElement {
  const across = s.pivot as "target" | "strategy";
  const down = across === "target" ? "strategy" : "target";
  const heads: string[] = [];
  const lines = new Map<string, Map<string, number>>();
  for (const i of order) {
    const name = [nameOf(t.rows, i, "model"), nameOf(t.rows, i, down), t.rows.shapes[t.rows.shape[i]!]!].join(" · ");
    const at = nameOf(t.rows, i, across);
    if (!heads.includes(at)) heads.push(at);
    const line = lines.get(name) ?? new Map<string, number>();
    lines.set(name, line);
    if (!line.has(at)) line.set(at, i); // the order's first is the best
  }
  heads.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const cell = (i: number | undefined): HTMLTableCellElement => {
    const td = make("td", { className: "n" });
    const [v, iv] = i === undefined ? ["", ""] : written(t, forms, i, column.key);
    if (i === undefined || v === "") td.append(make("span", { className: "none" }, make("span", { ariaHidden: "true" }, "—"), make("span", { className: "vh" }, i === undefined ? "no row within what is asked" : "not known of its row")));
    else td.append(make("a", { href: `${base}r/${t.rows.ids[i]!}/` }, v), " ", make("span", { className: "ci" }, `${iv ? `${iv} · ` : ""}c\u00a0=\u00a0${fixed(t.rows.c[i]!, 0)} · ${t.rows.recipes[t.rows.recipe[i]!]!.names[3]}`));
    return td;
  };
  return make("table", { className: "cells pivot" },
    make("thead", {}, make("tr", {}, make("th", { scope: "col", className: "first" }, `Model · ${down} · ISL:OSL`), ...heads.map((h) => make("th", { scope: "col", className: "n" }, h)))),
    make("tbody", {}, ...[...lines].map(([name, line]) => make("tr", {}, make("th", { scope: "row" }, name), ...heads.map((h) => cell(line.get(h)))))));
}

// The calculator's tables: figures, parts of a step, measured rows, every device.
import { count, decimals, fixed, prose } from "../js/format";
import type { Lean } from "../js/lean";
import { make } from "../js/make";
import { again } from "../js/sort";
import { own, pack, type Data, type Question, type Row } from "./data";
import { plural } from "./words";

function element<T extends Element = HTMLElement>(selector: string): T {
  const e = document.querySelector<T>(selector);
  if (!e) throw new Error(`the page has no ${selector}`);
  return e;
}

/** Writes each figure of the question and of its answer. */
export function figures(packed: number[], out: number[]): void {
  const slot = (place: string | undefined) => {
    const [from, index] = (place ?? "").split(" ");
    return (from === "in" ? packed : out)[Number(index)] ?? NaN;
  };
  for (const cell of document.querySelectorAll<HTMLElement>("[data-figure]")) {
    const value = slot(cell.dataset["figure"]);
    cell.textContent = Number.isNaN(value) ? "—" : prose(value / Number(cell.dataset["scale"]));
  }
  for (const cell of document.querySelectorAll<HTMLElement>("[data-exact]")) {
    const value = slot(cell.dataset["exact"]);
    cell.textContent = Number.isNaN(value) ? "not known" : String(value);
  }
}

/** Hides what is expected where it equals the hard figure, and what is said of experts where there are none. */
export function expectations(out: number[], routed: boolean): void {
  for (const row of document.querySelectorAll<HTMLElement>("tr[data-hard]")) {
    const [, slot] = (row.querySelector<HTMLElement>("[data-figure]")?.dataset["figure"] ?? "").split(" ");
    row.hidden = out[Number(slot)] === out[Number(row.dataset["hard"])];
  }
  for (const said of document.querySelectorAll<HTMLElement>(".routed")) said.hidden = !routed;
}

/** Names the row nearest to its roof, with its address. */
export function best(rows: Row[]): void {
  const line = element("#ceiling-best");
  const r = rows.find((row) => row.best);
  line.hidden = !r;
  line.replaceChildren(...(r ? ["Measured so far: at best ", make("a", { href: r.address }, `${r.share} of its hard roof`), ` (${r.name}, ${r.types} on ${r.on}, ${r.load}).`] : []));
}

/** Writes what lies in the memory of all devices, and that memory. */
export function memory(q: Question, packed: number[], out: number[], kept: number, data: Data): void {
  const [tp, pp, dp] = q.layout;
  const all = (packed[data.own.slots["gb"] ?? -1] ?? NaN) * tp * pp * dp;
  const values = [out[data.out["resident"] ?? -1] ?? NaN, kept, all];
  const longest = Math.max(...values);
  [...element<HTMLTableElement>("#memory-parts").tBodies[0]!.rows].forEach((row, i) => {
    const v = values[i] ?? NaN;
    const known = !Number.isNaN(longest);
    line(row, known ? prose(v / 1e9) : "—", known ? v / longest : 0, known && i < 2 ? percent(v / all) : "");
  });
}

// line writes a part's figure, bar and share.
function line(row: HTMLTableRowElement, said: string, length: number, of: string): void {
  const [, figure, bar, share] = row.cells;
  if (figure) figure.textContent = said;
  bar?.querySelector("rect")?.setAttribute("width", `${Math.round(length * 1000) / 10}%`);
  if (share) share.textContent = of;
}

/** Writes what a step reads and computes, part by part. */
export function parts(out: number[], data: Data): void {
  for (const table of document.querySelectorAll<HTMLTableElement>("table.parts[data-scale]")) {
    const rows = [...table.querySelectorAll<HTMLTableRowElement>("[data-part]")];
    const value = (row: HTMLElement) => out[Number(row.dataset["part"])] ?? NaN;
    const apart = (row: HTMLElement) => Number(row.dataset["part"]) === data.out["apart"];
    const whole = rows.reduce((sum, row) => sum + (apart(row) ? 0 : value(row)), 0);
    const longest = Math.max(...rows.map((row) => value(row)));
    for (const row of rows) {
      const v = value(row);
      row.hidden = !(v > 0);
      line(row, Number.isNaN(v) ? "—" : prose(v / Number(table.dataset["scale"])), v > 0 ? v / longest : 0, apart(row) || Number.isNaN(v) ? "" : percent(v / whole));
    }
  }
}

function percent(share: number): string {
  const p = share * 100;
  return `${fixed(p, p >= 95 && p <= 105 ? 1 : 0)}%`;
}

/** Lists the rows measured of the question's model on its device. */
export function measured(q: Question, rows: Row[]): void {
  element("#measured-what").textContent = `${q.model.name} on ${q.target.name}`;
  element("#measured-none").hidden = rows.length > 0;
  element("#measured-table").hidden = rows.length === 0;
  const n = (text: string) => make("td", { className: "n" }, text);
  element("#measured-rows").replaceChildren(...rows.map((r) => make("tr", {},
    make("th", { scope: "row" }, make("a", { href: r.address }, r.load)),
    make("td", {}, r.name), make("td", {}, r.types), make("td", {}, r.on), n(r.batch), n(r.context), n(r.step), n(r.hard),
    make("td", { className: r.above ? "n bad" : "n" }, r.above ? `${r.share} ↑` : r.share))));
}

interface Held {
  devices: number; // 0: on none of those that the model can be shared among
  figures: number[]; // tok/s of each sequence, of all, expected of all, of one device
  binding: string;
  peakless: boolean; // nothing but memory and links bounds the figures
}

// heldBy answers the question on the fewest devices that hold it.
function heldBy(q: Question, data: Data, module: Lean): Held {
  let held: Held = { devices: 0, figures: [], binding: "", peakless: false };
  for (const layout of q.model.layouts) {
    const [tp = 1, pp, dp, ep] = layout.split(".").map(Number);
    if (pp !== 1 || dp !== 1 || ep !== 0) continue;
    const out = module.ceiling(pack({ ...q, layout: [tp, 1, 1, 0] }, data));
    const get = (name: string) => out[data.out[name] ?? -1] ?? NaN;
    if (get("fits") === 0) continue;
    const hard = get("hard");
    held = { devices: tp, figures: [hard / (q.numbers["batch"] ?? 1), hard, get("expected"), hard / tp], binding: data.bindings[get("binding")] ?? "", peakless: Number.isNaN(get("computing")) };
    break;
  }
  return held;
}

/** Asks the question of every device; choose is called with the one that a reader presses. */
export function everywhere(q: Question, data: Data, module: Lean, choose: (id: string) => void): void {
  const table = element<HTMLTableElement>("#everywhere");
  const body = table.tBodies[0];
  if (!body) return;
  element("#everywhere-what").textContent = q.model.name;
  let mine = body.querySelector<HTMLTableRowElement>(`[data-device="${own}"]`);
  if (q.targetID === own && !mine) {
    mine = make("tr", {}, make("th", { scope: "row" }, "Your device"), ...Array.from({ length: 6 }, (_, i) => make("td", { className: i < 5 ? "n" : "" })));
    mine.dataset["device"] = own;
    body.prepend(mine);
  } else if (q.targetID !== own) {
    mine?.remove();
  }
  const lines = [...body.rows].map((row) => {
    const id = row.dataset["device"] ?? "";
    const target = id === own ? q.target : data.targets[id];
    return { row, id, held: target ? heldBy({ ...q, target }, data, module) : undefined };
  });
  const places = [0, 1, 2, 3].map((i) => decimals(lines.flatMap(({ held }) => (held?.binding ? [held.figures[i] ?? NaN] : []))));
  const same = lines.every(({ held }) => !held?.binding || held.figures[1] === held.figures[2]);
  for (const row of table.rows) row.cells[4]?.toggleAttribute("hidden", same);
  element("#everywhere-same").hidden = !same;
  const most = Number(q.model.layouts.at(-1)?.split(".")[0] ?? 1);
  const why = {
    b: "A figure of the device is not published",
    c: `Does not fit on ${plural(most, "device", "devices")}, sharing each matrix`,
    d: "No dense peak for these types is published, so only memory, and links between several, bound the figures; sorted last",
  };
  const used = new Set<keyof typeof why>();
  for (const { row, id, held } of lines) {
    const [name, ...cells] = row.cells;
    if (!name || !held) continue;
    if (id !== own && !name.querySelector("button")) {
      const button = make("button", { type: "button", className: "pick" }, name.textContent ?? "");
      button.addEventListener("click", () => choose(id));
      name.replaceChildren(button);
    }
    const current = id === q.targetID;
    row.classList.toggle("current", current);
    name.querySelector("button")?.setAttribute("aria-pressed", String(current));
    const letter = held.devices === 0 ? "c" : "b";
    const write = (cell: HTMLTableCellElement | undefined, v: number, said: string, sorted = true) => {
      if (!cell) return;
      if (!sorted) cell.dataset["value"] = "";
      else if (Number.isNaN(v)) delete cell.dataset["value"];
      else cell.dataset["value"] = String(v);
      cell.textContent = said;
    };
    write(cells[0], held.devices || NaN, held.devices === 0 ? `>\u00a0${count(most)}` : count(held.devices));
    held.figures.forEach((v, i) => write(cells[i + 1], v, fixed(v, places[i] ?? 0), !held.peakless));
    const dash = (cell: HTMLTableCellElement | undefined, letter: keyof typeof why) => {
      used.add(letter);
      const sign = make("span", {}, "—", make("sup", {}, letter));
      sign.setAttribute("aria-hidden", "true");
      cell?.replaceChildren(make("span", { className: "none" }, sign, make("span", { className: "vh" }, why[letter])));
    };
    if (!held.binding) {
      for (const cell of cells.slice(1, 5)) {
        write(cell, NaN, "");
        dash(cell, letter);
      }
    }
    if (held.binding && held.peakless) dash(cells[5], "d");
    else if (cells[5]) cells[5].textContent = held.binding;
  }
  element("#everywhere-reasons").replaceChildren(...[...used].sort().flatMap((letter, i) => [i > 0 ? " " : "", make("sup", {}, letter), `\u00a0${why[letter]}.`]));
  again(table);
}

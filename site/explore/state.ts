// The rows of the explorer, and what its address says.

export interface Recipe {
  code: string; // in addresses
  id: string; // MODEL/TARGET/STRATEGY/ENGINE
  names: [string, string, string, string];
  address: string;
  gpus: number;
  dtype: string;
}

export interface Column {
  key: string;
  name: string;
  unit: string;
  better: "high" | "low";
  shown: boolean;
}

/** Rows as columns; of each figure three numbers a row, itself and its interval's ends. */
export interface Rows {
  recipes: Recipe[];
  shapes: string[];
  ids: string[];
  recipe: number[];
  shape: number[];
  c: number[];
  date: string[];
  verdict: string[];
  engine: string[];
  figures: Record<string, (number | null)[]>;
}

export interface Data {
  file: string;
  columns: Column[];
  slots: { mark: string; dash: string }[];
  most: number;
  old: string; // the day before which rows are marked
  days: number; // that day's distance from the newest row
}

/** What a row can be filtered by, each by an id; what each recipe or row has of it. */
export const filters = ["model", "target", "strategy", "engine", "dtype", "gpus", "shape"] as const;
export type Filter = (typeof filters)[number];

export const limited = ["ttft99", "itl99"] as const;
export type Limited = (typeof limited)[number];

export interface Sort {
  key: string; // a column's, or c or date
  down: boolean;
}

export interface State {
  only: Partial<Record<Filter, string>>;
  most: Partial<Record<Limited, string>>; // as written
  every: boolean; // each load, not the best of each cell and shape
  sort: Sort[];
  columns: string[];
  pivot: "" | "target" | "strategy";
  axes: "" | "linear" | "log";
  pins: string[]; // codes
  page: number; // from 1
}

export function usual(data: Data): State {
  return { only: {}, most: {}, every: false, sort: [{ key: "gpu", down: true }], columns: data.columns.filter((c) => c.shown).map((c) => c.key), pivot: "", axes: "", pins: [], page: 1 };
}

/** Reads the address; what it does not know is left out and told. */
export function read(query: string, data: Data, rows: Rows): { state: State; dropped: string[] } {
  const asked = new URLSearchParams(query);
  const state = usual(data);
  const dropped: string[] = [];
  const known = new Map(filters.map((f) => [f, new Set(rows.ids.map((_, i) => valueOf(rows, i, f)))]));
  for (const f of filters) {
    const v = asked.get(f);
    if (v === null) continue;
    if (known.get(f)?.has(v)) state.only[f] = v;
    else dropped.push(`${f} ${v} is not known and was left out.`);
  }
  for (const f of limited) {
    const v = asked.get(f);
    if (v !== null) state.most[f] = v;
  }
  state.every = asked.get("every") === "1";
  const keys = new Set([...data.columns.map((c) => c.key), "c", "date"]);
  const list = (name: string, fallback: string[]) => {
    const given = asked.get(name)?.split("~");
    if (!given) return fallback;
    const good = given.filter((k) => keys.has(k.replace(/^-/, "")));
    for (const k of given) if (!good.includes(k)) dropped.push(`Column ${k} is not known and was left out.`);
    return good;
  };
  const sort = list("sort", []);
  if (sort.length > 0) state.sort = sort.map((k) => ({ key: k.replace(/^-/, ""), down: k.startsWith("-") }));
  state.columns = list("cols", state.columns).filter((k) => data.columns.some((c) => c.key === k));
  const pivot = asked.get("pivot");
  if (pivot === "target" || pivot === "strategy") state.pivot = pivot;
  else if (pivot !== null) dropped.push(`Pivot ${pivot} is not known and was left out.`);
  const axes = asked.get("axes");
  if (axes === "linear" || axes === "log") state.axes = axes;
  for (const code of asked.get("r")?.split("~") ?? []) {
    if (rows.recipes.some((r) => r.code === code)) state.pins.push(code);
    else dropped.push(`Recipe ${code} is not measured here and was left out.`);
  }
  state.page = Math.max(1, Math.floor(Number(asked.get("page") ?? 1)) || 1);
  return { state, dropped };
}

/** The address's query of a state: what is usual is left out. */
export function write(s: State, data: Data): string {
  const u = usual(data);
  const parts: string[] = [];
  const put = (name: string, v: string) => parts.push(`${name}=${encodeURIComponent(v).replaceAll("%3A", ":").replaceAll("%2F", "/")}`);
  for (const f of filters) if (s.only[f] !== undefined) put(f, s.only[f]);
  for (const f of limited) if (s.most[f]) put(f, s.most[f]);
  if (s.every) put("every", "1");
  const sort = (of: Sort[]) => of.map((k) => `${k.down ? "-" : ""}${k.key}`).join("~");
  if (sort(s.sort) !== sort(u.sort)) put("sort", sort(s.sort));
  if (s.columns.join() !== u.columns.join()) put("cols", s.columns.join("~"));
  if (s.pivot) put("pivot", s.pivot);
  if (s.axes) put("axes", s.axes);
  if (s.pins.length > 0) put("r", s.pins.join("~"));
  if (s.page > 1) put("page", String(s.page));
  return parts.length > 0 ? `?${parts.join("&")}` : "";
}

/** What row i has of a filter, as an id. */
export function valueOf(rows: Rows, i: number, f: Filter): string {
  if (f === "shape") return rows.shapes[rows.shape[i]!]!;
  const recipe = rows.recipes[rows.recipe[i]!]!;
  if (f === "dtype") return recipe.dtype;
  if (f === "gpus") return String(recipe.gpus);
  return recipe.id.split("/")[["model", "target", "strategy", "engine"].indexOf(f)]!;
}

/** What it is called. */
export function nameOf(rows: Rows, i: number, f: Filter): string {
  const at = ["model", "target", "strategy", "engine"].indexOf(f);
  return at >= 0 ? rows.recipes[rows.recipe[i]!]!.names[at]! : valueOf(rows, i, f);
}

// What the compare page knows of recipes, and what its address says.

export interface Metric {
  key: string;
  name: string;
  unit: string;
  better: "high" | "low";
  points: boolean; // it has a mean and percentiles
}

export interface Recipe {
  code: string; // in addresses
  id: string;
  names: [string, string, string, string]; // model, target, strategy, engine
  address: string;
  file: string;
  shapes: string[];
}

/** A figure with its interval's ends, if any; or the reason why there is none. */
export type Figure = number[] | string;

export interface Rung {
  id: string; // the row
  c: number;
  date: string;
  verdict: string;
  f: Record<string, Figure | Figure[]>;
}

export interface Ladders {
  groups: { name: string; facts: [string, string][] }[];
  shapes: Record<string, Rung[]>;
}

export interface Data {
  metrics: Metric[];
  points: string[];
  slots: { mark: string; dash: string }[];
  recipes: Recipe[];
  most: number;
  pins: string[];
  shape: string;
}

/** What is compared; the address states it. */
export interface State {
  pins: (Recipe | undefined)[]; // by slot: who is unpinned leaves it free
  shape: string;
  metric: Metric;
  point: string;
  reference: string; // a recipe's code; "": the first
}

/** Reads the address; what it does not know is left out and told. */
export function read(query: string, data: Data): { state: State; dropped: string[] } {
  const asked = new URLSearchParams(query);
  const dropped: string[] = [];
  const wanted = asked.get("r")?.split("~") ?? data.pins;
  const pins: State["pins"] = [];
  for (const code of wanted) {
    const found = data.recipes.find((r) => r.code === code || r.id === code);
    if (code === "") pins.push(undefined); // a slot that was left free
    else if (!found) dropped.push(`Recipe ${code} is not measured here and was left out.`);
    else if (pins.includes(found)) dropped.push(`Recipe ${code} stands twice and was left out once.`);
    else if (pins.length >= data.most) dropped.push(`More than ${data.most} recipes: ${code} was left out.`);
    else pins.push(found);
  }
  const all = shapesOf(pins);
  let shape = asked.get("s") ?? (asked.has("r") ? "" : data.shape);
  if (shape && !all.includes(shape)) {
    dropped.push(`Shape ${shape} is not measured of these and was left out.`);
    shape = "";
  }
  const key = asked.get("m") ?? "gpu";
  const metric = data.metrics.find((m) => m.key === key);
  if (!metric) dropped.push(`Metric ${key} is not known and was left out.`);
  const point = asked.get("p") ?? "p50";
  if (!data.points.includes(point)) dropped.push(`Percentile ${point} is not known and was left out.`);
  const reference = asked.get("ref") ?? "";
  const known = reference === "" || pins.some((p) => p?.code === reference);
  if (!known) dropped.push(`Reference ${reference} is not pinned and was left out.`);
  return {
    state: {
      pins, shape: shape || common(pins), metric: metric ?? data.metrics[0]!,
      point: data.points.includes(point) ? point : "p50", reference: known ? reference : "",
    },
    dropped,
  };
}

/** The address's query of a state: what is usual is left out, but never the pins. */
export function write(s: State): string {
  const pins = s.pins.map((p) => p?.code ?? "");
  while (pins.at(-1) === "") pins.pop();
  const parts = [`r=${pins.join("~")}`];
  if (s.shape) parts.push(`s=${s.shape}`);
  if (s.metric.key !== "gpu") parts.push(`m=${s.metric.key}`);
  if (s.metric.points && s.point !== "p50") parts.push(`p=${s.point}`);
  if (s.reference) parts.push(`ref=${s.reference}`);
  return `?${parts.join("&")}`;
}

export function pinned(s: State): { recipe: Recipe; slot: number }[] {
  return s.pins.flatMap((recipe, i) => (recipe ? [{ recipe, slot: i + 1 }] : []));
}

/** Every shape that one of them is measured at. */
export function shapesOf(pins: State["pins"]): string[] {
  return [...new Set(pins.flatMap((p) => p?.shapes ?? []))].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
}

/** The shape that most of them are measured at. */
export function common(pins: State["pins"]): string {
  const all = shapesOf(pins);
  const n = (shape: string) => pins.filter((p) => p?.shapes.includes(shape)).length;
  return all.reduce((best, shape) => (n(shape) > n(best) ? shape : best), all[0] ?? "");
}

/** What tells recipes apart, of each the shortest: a part of the name that all share is left out. */
export function namesOf(recipes: Recipe[]): string[] {
  const vary = [0, 1, 2, 3].filter((i) => i === 2 || recipes.some((r) => r.names[i] !== recipes[0]?.names[i]));
  const unlike = vary.filter((i) => i !== 2 || recipes.some((r) => r.names[2] !== recipes[0]?.names[2]) || vary.length === 1);
  return recipes.map((r) => unlike.map((i) => r.names[i]).join(" · "));
}

/** A rung's figure of a metric at a point. */
export function figure(rung: Rung, s: State, points: string[]): Figure {
  const of = rung.f[s.metric.key];
  if (of === undefined) return "not computable";
  if (!s.metric.points) return of as Figure;
  return (of as Figure[])[points.indexOf(s.point)] ?? "not computable";
}

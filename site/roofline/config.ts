// A reader's own config.json, dropped on the page or chosen: read here by the full module,
// which loads for it alone. Nothing is uploaded.
import type { FullExports } from "../../wasm/full/full";
import { drop } from "../js/drop";
import { make } from "../js/make";
import { reactor } from "../js/reactor";
import type { Model } from "./data";

/** What the full module answers of a file. */
interface Answer {
  model: Model | null;
  problems: { where: string; text: string }[];
}

let loading: Promise<FullExports> | undefined;

/** Reads the model that a file describes; rejects with the reason when the module does not load. */
async function read(file: File, box: HTMLElement): Promise<Answer> {
  loading ??= reactor<FullExports>(box.dataset["full"] ?? "", box.dataset["integrity"] ?? "");
  let go: FullExports;
  try {
    go = await loading;
  } catch (reason) {
    loading = undefined; // the next file tries again
    throw reason;
  }
  const bytes = new Uint8Array(await file.arrayBuffer());
  const at = go.file(bytes.length);
  if (at === 0) return { model: null, problems: [{ where: "", text: "is above 64 MiB; a config.json is a few kilobytes" }] };
  new Uint8Array(go.memory.buffer, at, bytes.length).set(bytes);
  const n = go.config();
  return JSON.parse(new TextDecoder().decode(new Uint8Array(go.memory.buffer, go.text(), n))) as Answer;
}

// folded writes a problem; of a long list of what is accepted the nearest stand first, and
// all behind them.
function folded(text: string): (Node | string)[] {
  const [, before = "", list = ""] = /^(.*?)accepted: (.*)$/.exec(text) ?? [];
  const names = list.split(", ");
  if (names.length <= 8) return [text];
  const [, found = ""] = /"([^"]*)"/.exec(before) ?? [];
  const near = [...names].sort((a, b) => likeness(b, found) - likeness(a, found)).filter((name) => likeness(name, found) > 0).slice(0, 5);
  const nearest = near.length > 0 ? `nearest of those that are: ${near.join(", ")}` : "none is like it";
  return [`${before}${nearest}`, make("details", {}, make("summary", {}, `All ${names.length} that are accepted`), list)];
}

// likeness is how many pairs of letters two names share, of all that they have.
function likeness(a: string, b: string): number {
  const pairs = (s: string) => new Set(Array.from({ length: Math.max(0, s.length - 1) }, (_, i) => s.slice(i, i + 2).toLowerCase()));
  const [x, y] = [pairs(a), pairs(b)];
  return (2 * [...x].filter((pair) => y.has(pair)).length) / Math.max(1, x.size + y.size);
}

/** Takes files that are dropped anywhere on the page, or chosen in input. */
export function configs(box: HTMLElement, taken: (model: Model, file: string) => void): void {
  const input = box.querySelector<HTMLInputElement>("#config");
  const zone = box.querySelector<HTMLElement>("#drop");
  const problem = box.querySelector<HTMLElement>("#config-problem");
  if (!input || !zone || !problem) return;

  const take = async (file: File) => {
    const say = (...lines: (Node | string)[][]) => problem.replaceChildren(...lines.map((line) => make("p", {}, ...line)));
    say();
    zone.setAttribute("aria-busy", "true");
    try {
      const { model, problems } = await read(file, box);
      if (model) taken({ ...model, name: model.name || file.name }, file.name);
      else say([`${file.name} was not taken; what stood here stays:`], ...problems.map((p) => (p.where ? [make("code", {}, p.where), " ", ...folded(p.text)] : folded(p.text))));
    } catch (reason) {
      say([`${file.name} cannot be read: the module did not load (${reason instanceof Error ? reason.message : String(reason)}).`]);
    } finally {
      zone.removeAttribute("aria-busy");
    }
  };
  drop(zone, input, ([file]) => { if (file) void take(file); });
}

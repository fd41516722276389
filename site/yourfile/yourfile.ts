// Judges a reader's own files: the full module parses them and asks every gate, and the
// page lays each row beside verified rows of the same load. Nothing is uploaded: all that is
// fetched is the module, the worker that runs it and the rows of this site, once, before a
// file is read.
import type { Answer, Ask } from "../judge/judge";
import { busy } from "../js/busy";
import { drop } from "../js/drop";
import { folded, listed, part } from "../js/listed";
import { make } from "../js/make";
import { compiled } from "../js/reactor";

interface Dist { p50: number | null; p99: number | null }
interface Figures {
  ttft_ms: Dist | null; tpot_ms: Dist | null; itl_ms: Dist | null; e2e_ms: Dist | null;
  output_tok_s: number | null; output_tok_s_per_gpu: number | null; prefill_tok_s: number | null; decode_tok_s: number | null;
}

/** A row of the file, as package recheck writes it. */
interface Row {
  id: string; verdict: string; file: string; status: string; reason: string; model: string; engine: string; recipe: string; measured_at: string;
  workload: { isl: number; osl: number; protocol: string; load: { concurrency: number | null; request_rate: string | null } };
  measured: Figures;
  gates: { gate: string; answer: string; blocks: boolean; reason: string; mend?: string }[];
  import: { tool: string; version: string; clock: string; stated: { name: string; text: string; unit: string; means?: string }[] } | null;
}

export interface Taken { problems: string[]; left: string[]; rows: Row[] }

/** A row of this site, as api/v1/rows.json has it. */
interface Published {
  id: string; page: string; verdict: string; recipe: string; isl: number; osl: number; concurrency: number | null; request_rate: string | null; protocol: string; figures: Figures;
}

const zone = document.querySelector<HTMLElement>("#drop");
const input = document.querySelector<HTMLInputElement>("#files");
const line = document.querySelector<HTMLElement>("#said");
const stop = document.querySelector<HTMLButtonElement>("#stop");
const elapsed = document.querySelector<HTMLElement>("#elapsed");
const out = document.querySelector<HTMLElement>("#taken");

if (zone && input && line && out && stop && elapsed) {
  const named = (name: string) => zone.dataset[name] ?? "";
  const judge = judging(named("worker"));
  let loading: Promise<[WebAssembly.Module, Published[]]> | undefined;
  const load = () => (loading ??= Promise.all([compiled(named("full"), named("integrity")), rows(named("rows"))])
    .catch((reason: unknown) => { loading = undefined; throw reason; }));
  let turns = 0;
  const take = (files: File[]) => {
    if (files.length === 0) return;
    const turn = ++turns;
    const say = (text: string, ...parts: Node[]) => {
      if (turn !== turns) return; // other files were chosen meanwhile
      line.textContent = text;
      out.replaceChildren(...parts);
    };
    void busy(line, async () => {
      let ticking: number | undefined;
      try {
        say("Loading the module…");
        const [module, published] = await load();
        say("Reading…");
        stop.disabled = false;
        const began = Date.now();
        ticking = setInterval(() => { elapsed.textContent = `${Math.round((Date.now() - began) / 1000)} s`; }, 1000);
        const taken = await judge.ask(module, files);
        say(summary(taken), ...show(taken, published, named("base")));
      } catch (reason) {
        say(`Not read: ${(reason instanceof Error ? reason.message : String(reason)).replace(/\.+$/, "")}.`);
      } finally {
        clearInterval(ticking);
        if (turn === turns) {
          stop.disabled = true;
          elapsed.textContent = "";
        }
      }
    });
  };
  stop.addEventListener("click", () => {
    judge.stop("stopped");
    input.focus();
  });
  drop(zone, input, take);
}

// rows are those of this site; none where they cannot be had.
async function rows(address: string): Promise<Published[]> {
  const response = await fetch(address).catch(() => undefined);
  return response?.ok ? ((await response.json()) as { rows: Published[] }).rows : [];
}

// judging keeps a worker that reads files, one choice of them at a time: the page stays
// usable meanwhile, and can end it.
function judging(address: string) {
  let worker: Worker | undefined;
  let fail: ((reason: Error) => void) | undefined; // of the work under way
  const stop = (why: string) => {
    if (!fail) return;
    worker?.terminate();
    worker = undefined;
    fail(new Error(why));
    fail = undefined;
  };
  const ask = (module: WebAssembly.Module, files: File[]) => new Promise<Taken>((done, no) => {
    stop("other files were chosen");
    fail = no;
    worker ??= new Worker(address, { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<Answer>) => {
      fail = undefined;
      if (data.taken) done(data.taken);
      else no(new Error(data.error));
    };
    worker.onerror = () => { stop(`${address} did not load`); };
    worker.postMessage({ module, files } satisfies Ask);
  });
  return { ask, stop };
}

function summary(taken: Taken): string {
  const n = taken.rows.length;
  if (n === 0) return taken.problems.length === 0 ? "No row is in it." : "Nothing could be read of it.";
  const of = (verdict: string) => taken.rows.filter((r) => r.verdict === verdict).length;
  const parts = ["verified", "imported", "unverified"].filter((v) => of(v) > 0).map((v) => `${of(v)} ${v}`);
  return `${n} ${n === 1 ? "row" : "rows"}: ${parts.join(", ")}.`;
}

function show(taken: Taken, published: Published[], base: string): Node[] {
  const parts: Node[] = [];
  if (taken.problems.length > 0) parts.push(make("ul", { className: "bad" }, ...taken.problems.flatMap((p) => p.split("\n")).map((p) => make("li", {}, p))));
  if (taken.left.length > 0) parts.push(make("ul", { className: "note" }, ...taken.left.map((p) => make("li", {}, `Left out: ${p}`))));
  return [...parts, ...taken.rows.map((row) => section(row, published, base))];
}

const load = (r: { isl: number; osl: number; concurrency: number | null; request_rate: string | null }) =>
  `${r.isl}:${r.osl}, ${r.request_rate !== null ? `${r.request_rate} requests/s` : `c = ${r.concurrency ?? "—"}`}`;

// beside are verified rows of the same load but the row itself, those of the same model first.
function beside(row: Row, published: Published[]): Published[] {
  const model = row.model.toLowerCase();
  const same = (p: Published) => (model !== "" && model.includes(p.recipe.split("/", 1)[0] ?? "") ? 0 : 1);
  const { isl, osl, protocol, load: l } = row.workload;
  return published
    .filter((p) => p.id !== row.id && p.verdict === "verified" && p.isl === isl && p.osl === osl && p.protocol === protocol && p.concurrency === l.concurrency && p.request_rate === l.request_rate)
    .sort((a, b) => same(a) - same(b) || a.recipe.localeCompare(b.recipe))
    .slice(0, 4);
}

const shown: [string, string, (f: Figures) => number | null | undefined][] = [
  ["TTFT p50", "ms", (f) => f.ttft_ms?.p50], ["TTFT p99", "ms", (f) => f.ttft_ms?.p99], ["TPOT p50", "ms", (f) => f.tpot_ms?.p50], ["TPOT p99", "ms", (f) => f.tpot_ms?.p99],
  ["ITL p50", "ms", (f) => f.itl_ms?.p50], ["ITL p99", "ms", (f) => f.itl_ms?.p99], ["E2E p50", "ms", (f) => f.e2e_ms?.p50], ["E2E p99", "ms", (f) => f.e2e_ms?.p99],
  ["Output", "tok/s", (f) => f.output_tok_s], ["Output per GPU", "tok/s", (f) => f.output_tok_s_per_gpu], ["Prefill", "tok/s", (f) => f.prefill_tok_s], ["Decode", "tok/s", (f) => f.decode_tok_s],
];

const number = (v: number | null | undefined) => (v === null || v === undefined ? "—" : v.toLocaleString("en", { maximumSignificantDigits: 4 }));

function section(row: Row, published: Published[], base: string): Node {
  const others = beside(row, published);
  const tool = row.import ? `${row.import.tool} ${row.import.version}`.trim() : "measure";
  const same = load({ ...row.workload, concurrency: row.workload.load.concurrency, request_rate: row.workload.load.request_rate });
  const measured = row.measured_at === "" ? "it does not say when" : `measured ${row.measured_at.slice(0, 16).replace("T", " ")}`;
  const about = [row.file, tool, row.model, row.engine, row.recipe, measured, row.import?.clock ?? "", row.status === "ok" ? "" : `failed: ${row.reason}`].filter((t) => t !== "");
  const blocking = row.gates.filter((g) => g.blocks);
  return make("section", {},
    make("h2", {}, same, make("span", { className: row.verdict === "unverified" ? "bad" : "note" }, row.verdict)),
    make("p", { className: "note" }, about.join(" · ")),
    ...(blocking.length > 0 ? [make("p", {}, `${row.verdict === "unverified" ? "Refused or not judged" : "Not judged"} by ${blocking.map((g) => g.gate).join(", ")}.`)] : []),
    figures(row, others, base),
    make("p", { className: "note" }, others.length > 0
      ? `Beside it: verified rows of ${same}, ${row.workload.protocol}, the same model first. What your file states is not ranked among them.`
      : `No other verified row here has ${same}, ${row.workload.protocol}.`),
    folded("Gates", row.verdict === "unverified", listed("answers", [...row.gates].sort((a, b) => Number(b.blocks) - Number(a.blocks)).map((g) => [
      make("strong", {}, g.gate), part(g.answer, g.answer === "fail"), part(g.mend ? `${g.reason}; ${g.mend}` : g.reason),
    ]))),
    ...(row.import ? [folded(`As ${tool} states it`, false, listed("stated", row.import.stated.map((s) => [
      make("strong", {}, s.name), part(s.unit === "" ? s.text : `${s.text} ${s.unit}`), part(s.means ?? ""),
    ])))] : []),
  );
}

// figures are the row's beside those of others.
function figures(row: Row, others: Published[], base: string): Node {
  const named = (p: Published) => {
    const [model = "", ...rest] = p.recipe.split("/");
    return make("th", { scope: "col", className: "n" }, make("a", { href: base + p.page }, model), make("span", { className: "u" }, rest.join(" · ")));
  };
  const n = (text: string) => make("td", { className: "n" }, text);
  const lines = shown.filter(([, , of]) => of(row.measured) !== null && of(row.measured) !== undefined);
  const scroll = make("section", { className: "scroll always", tabIndex: 0 }, make("table", { className: "beside" },
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Figure"), make("th", { scope: "col", className: "n" }, "Your file"), ...others.map(named))),
    make("tbody", {}, ...lines.map(([name, unit, of]) => make("tr", {}, make("th", { scope: "row" }, `${name}, ${unit}`), n(number(of(row.measured))), ...others.map((p) => n(number(of(p.figures)))))))));
  scroll.setAttribute("aria-label", `Figures beside verified rows, row ${row.id}`);
  return folded("Figures beside verified rows", true, scroll);
}

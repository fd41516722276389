// Makes the row again in the reader's browser: fetches its files, has the full module
// recompute every hash and figure and ask every gate, and shows each beside what the page
// says.
import type { FullExports } from "../../wasm/full/full";
import { busy } from "../js/busy";
import { folded, listed, part } from "../js/listed";
import { make } from "../js/make";
import { reactor } from "../js/reactor";

/** What the full module answers of a row, as package recheck writes it. */
interface Row {
  id: string;
  verdict: string;
  problems: string[];
  hashes: Pair[];
  figures: Pair[];
  gates: { gate: string; answer: string; blocks: boolean; reason: string; mend?: string }[];
}

/** What the report states and what was found here, to the last digit; "" is none. */
interface Pair {
  name: string;
  stated: string;
  found: string;
}

const box = document.querySelector<HTMLElement>("#verify");
if (box) {
  const line = box.querySelector("[role=status]");
  const button = box.querySelector("button");
  const found = box.querySelector(".found");
  if (line && button && found) {
    button.disabled = false;
    button.addEventListener("click", () => {
      button.disabled = true;
      void busy(line, async () => {
        try {
          const row = await recheck(box, (text) => { line.textContent = text; });
          const { says, parts } = compare(row);
          line.replaceChildren(...says);
          found.replaceChildren(...parts);
        } catch (reason) {
          line.textContent = `Not verified here: ${reason instanceof Error ? reason.message : String(reason)}.`;
        } finally {
          button.disabled = false;
          button.textContent = "Verify again";
        }
      });
    });
  }
}

async function recheck(box: HTMLElement, say: (text: string) => void): Promise<Row> {
  const named = (name: string) => box.dataset[name] ?? "";
  say("Fetching the row’s files…");
  const files = await Promise.all(
    ["report", "samples", "evidence"].filter((kind) => named(kind) !== "").map(async (kind) => {
      const response = await fetch(named(kind), { cache: "no-store" });
      if (!response.ok) throw new Error(`${named(kind)} answered ${response.status}`);
      return { name: last(named(kind)), bytes: new Uint8Array(await response.arrayBuffer()) };
    }),
  );
  say("Loading the module…");
  const go = await reactor<FullExports>(named("full"), named("integrity"));
  const put = (at: number, bytes: Uint8Array, what: string) => {
    if (at === 0) throw new Error(`${what} is larger than what is read here`);
    new Uint8Array(go.memory.buffer, at, bytes.length).set(bytes);
  };
  const text = (name: string) => new TextEncoder().encode(name);
  for (const { name, bytes } of files) {
    put(go.name(text(name).length), text(name), "a name");
    put(go.file(bytes.length), bytes, name);
    go.keep();
  }
  say("Computing…");
  await new Promise((resume) => setTimeout(resume)); // the line is drawn before the work
  const report = text(last(named("report")));
  put(go.name(report.length), report, "a name");
  const n = go.check(Number(named("index")), Date.now() / 1000);
  const answer = JSON.parse(new TextDecoder().decode(new Uint8Array(go.memory.buffer, go.text(), n))) as { row: Row | null; error: string };
  if (!answer.row) throw new Error(answer.error);
  return answer.row;
}

const last = (address: string) => address.slice(address.lastIndexOf("/") + 1);

// shown is what the page itself says of a figure or a gate, wherever it does.
const shown = (kind: "figure" | "gate") => {
  const out = new Map<string, string[]>();
  for (const e of document.querySelectorAll<HTMLElement>(`[data-${kind}]`)) {
    const name = e.dataset[kind] ?? "";
    const said = (kind === "gate" ? e.children[1]?.textContent : e instanceof HTMLDataElement ? e.value : e.textContent) ?? "";
    out.set(name, [...(out.get(name) ?? []), said.trim().startsWith("—") ? "" : said.trim()]);
  }
  return out;
};

// Gates that need all rows, or what the catalogue says today, are asked when the site is
// built; of these the page may say more.
const elsewhere = new Set(["copied", "neighbours", "label", "ceiling", "cold"]);

function compare(row: Row): { says: (Node | string)[]; parts: Node[] } {
  const [figures, gates] = [shown("figure"), shown("gate")];
  const lines = row.figures.map((f) => {
    const pages = figures.get(f.name) ?? [];
    return { ...f, page: pages.find((p) => p !== f.found) ?? pages[0], equal: f.stated === f.found && pages.every((p) => p === f.found) };
  });
  const hashes = row.hashes.map((h) => ({ ...h, equal: h.stated === h.found }));
  const answers = row.gates.map((g) => {
    const page = gates.get(g.gate)?.[0] ?? "";
    return { ...g, page, equal: page === g.answer || (elsewhere.has(g.gate) && !g.blocks && page !== "fail" && page !== "cannot be judged") };
  });
  const wrong = [...hashes, ...lines, ...answers].filter((l) => !l.equal).length + row.problems.length;
  const blocking = row.gates.filter((g) => g.blocks);
  const computed = lines.filter((l) => l.found !== "").length;
  const says: (Node | string)[] = wrong > 0
    ? [make("strong", { className: "bad" }, `Differs: ${count(wrong, "claim")} of this page ${wrong === 1 ? "is" : "are"} not what its files give.`), " They are listed first."]
    : blocking.length > 0
      ? [make("strong", {}, `As the page says: ${row.verdict}.`), ` ${blocking.map((g) => g.gate).join(", ")} ${blocking.length === 1 ? "blocks" : "block"} it.`]
      : [make("strong", {}, "Verified here."), ` ${count(hashes.filter((h) => h.found !== "").length, "hash", "hashes")} and ${count(computed, "figure")} equal to the last digit; ${count(answers.filter((g) => g.answer === "pass").length, "gate")} passed.`];
  const worst = <T extends { equal: boolean }>(list: T[]) => [...list].sort((a, b) => Number(a.equal) - Number(b.equal));
  const parts: Node[] = [];
  if (row.problems.length > 0) parts.push(make("ul", { className: "bad" }, ...row.problems.map((p) => make("li", {}, p))));
  parts.push(
    folded(`Hashes: ${hashes.length} compared`, true, listed("hashes", worst(hashes).map((h) => [
      make("strong", {}, h.name), part(h.equal ? "equal" : "differs", !h.equal), digest(h.equal ? h.found : `computed here ${h.found || "—"}`), ...(h.equal ? [] : [digest(`stated ${h.stated || "—"}`)]),
    ]))),
    folded(`Gates: ${answers.length} compared`, wrong > 0, listed("answers", worst(answers).map((g) => [
      make("strong", {}, g.gate), part(g.equal ? g.answer : `${g.answer}; on the page ${g.page || "—"}`, g.blocks || !g.equal), part(g.mend ? `${g.reason}; ${g.mend}` : g.reason),
    ]))),
    folded(`Figures: ${lines.length} compared`, wrong > 0, listed("figures", worst(lines).map((f) => [
      make("strong", {}, make("code", {}, f.name)), part(f.found || "—"),
      ...(f.equal ? [] : [part(`on the page ${f.page || "—"}, in the report ${f.stated || "—"}`, true)]),
    ]))),
  );
  return { says, parts };
}

const count = (n: number, one: string, more = `${one}s`) => `${n} ${n === 1 ? one : more}`;

const digest = (text: string) => make("code", {}, text);

// Goodput: how many of a row's requests met every limit by themselves. Only its samples
// tell, so they and the full module are fetched when a reader asks.
import type { FullExports } from "../../wasm/full/full";
import { busy } from "../js/busy";
import { fixed, interval, prose } from "../js/format";
import { make } from "../js/make";
import type { Mark } from "../js/marks";
import { reactor } from "../js/reactor";
import type { Limit } from "./regroup";

interface Good {
  request_s: number | null;
  interval: [number, number] | null;
  missing: string;
  met: number;
  of: number;
  untold: number;
}

/** A button that counts the row's goodput under the limits, and where it then stands. */
export function goodput(mark: Mark, limits: Limit[], full: { address: string; integrity: string }): HTMLElement {
  const button = make("button", { type: "button" }, "Count its goodput");
  const said = make("span", { id: "goodput" });
  said.setAttribute("role", "status");
  button.addEventListener("click", () => {
    button.disabled = true;
    void busy(said, async () => {
      try {
        said.textContent = "Reading the row's samples…";
        said.textContent = sentence(await count(mark, limits, full));
      } catch (reason) {
        said.textContent = `Not counted: ${reason instanceof Error ? reason.message : String(reason)}.`;
        button.disabled = false;
      }
    });
  });
  return make("p", {}, button, " ", said);
}

async function count(mark: Mark, limits: Limit[], full: { address: string; integrity: string }): Promise<Good> {
  const fetched = await Promise.all([mark.report, mark.samples].map(async (address) => {
    const response = await fetch(address);
    if (!response.ok) throw new Error(`${address} answered ${response.status}`);
    return { name: last(address), bytes: new Uint8Array(await response.arrayBuffer()) };
  }));
  const go = await reactor<FullExports>(full.address, full.integrity);
  const put = (at: number, bytes: Uint8Array, what: string) => {
    if (at === 0) throw new Error(`${what} is larger than what is read here`);
    new Uint8Array(go.memory.buffer, at, bytes.length).set(bytes);
  };
  const text = (s: string) => new TextEncoder().encode(s);
  const name = (s: string) => { put(go.name(text(s).length), text(s), "a name"); };
  for (const f of fetched) {
    name(f.name);
    put(go.file(f.bytes.length), f.bytes, f.name);
    go.keep();
  }
  name(last(mark.report));
  const asked = text(limits.map((l) => `${l.name.toLowerCase()}_p${l.permille / 10}<${l.most}ms`).join(","));
  put(go.file(asked.length), asked, "the limits");
  const n = go.goodput(mark.index);
  const answer = JSON.parse(new TextDecoder().decode(new Uint8Array(go.memory.buffer, go.text(), n))) as { good: Good | null; error: string };
  if (!answer.good) throw new Error(answer.error);
  return answer.good;
}

function sentence(g: Good): string {
  if (g.request_s === null) return `Goodput: —, ${g.missing}.`;
  const d = g.request_s < 10 ? 2 : g.request_s < 100 ? 1 : 0;
  const span = g.interval ? ` (${interval(g.interval[0], g.interval[1], d)})` : "";
  const untold = g.untold > 0 ? `; of ${fixed(g.untold, 0)} it cannot be told` : "";
  return `Goodput: ${prose(g.request_s)}\u00a0requests/s${span} met every limit by themselves: ${fixed(g.met, 0)} of ${fixed(g.of, 0)}${untold}.`;
}

const last = (address: string) => address.slice(address.lastIndexOf("/") + 1);

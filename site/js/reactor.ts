// Fetches a WebAssembly module of ours.
import { held, unpacked } from "./file";
import { start, type Reactor } from "./start";

/** Fetches the module at url, held against its hash, or takes the page's own; rejects with the reason. */
export async function compiled(url: string, integrity: string): Promise<WebAssembly.Module> {
  const inside = held(url);
  if (inside !== undefined) return WebAssembly.compile(await unpacked(inside));
  const response = await fetch(url, { integrity }).catch(async () => {
    const found = await fetch(url); // says why, which a refusal by the hash does not
    throw new Error(found.ok ? `${url} is not the module that this page was built with` : `${url} answered ${found.status}`);
  });
  return WebAssembly.compile(await response.arrayBuffer());
}

/** Fetches and starts it. */
export async function reactor<T extends Reactor>(url: string, integrity: string): Promise<T> {
  return start<T>(await compiled(url, integrity));
}

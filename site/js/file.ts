// Files that a page reads: fetched by address, or from the page itself where the address
// is #ID, as in the copy that stands alone.

/** The JSON at address; rejects with the reason. */
export async function json<T>(address: string): Promise<T> {
  const inside = held(address);
  if (inside !== undefined) return JSON.parse(inside) as T;
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address} answered ${response.status}`);
  return (await response.json()) as T;
}

/** What the page itself holds under #ID; undefined of any other address. */
export function held(address: string): string | undefined {
  return address.startsWith("#") ? document.querySelector(address)?.textContent ?? "" : undefined;
}

/** Bytes that were packed by gzip and written in base64. */
export async function unpacked(text: string): Promise<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

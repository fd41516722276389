// What full.wasm exports: a wasip1 reactor, for files that a reader hands to the page.
// Call _initialize once, then the rest. Pointers are byte offsets into memory; a view
// over memory is stale after any call, since a call may grow the memory.
export interface FullExports extends WebAssembly.Exports {
  readonly memory: WebAssembly.Memory;
  _initialize(): void;
  /** Makes room for a file of so many bytes; returns where it begins, 0 above 64 MiB. */
  file(bytes: number): number;
  /**
   * Reads the file as a Hugging Face config.json and forgets it; returns the answer's
   * length in bytes of UTF-8. The answer is JSON: {"model": what the page's own data say
   * of a model, or null; "problems": [{"where": a key's path, "text": …}]}.
   */
  config(): number;
  /** Where the last answer begins; it stays until the next one. */
  text(): number;
}

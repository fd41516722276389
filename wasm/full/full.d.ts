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
  /** Makes room for a name of so many bytes of UTF-8; returns where it begins, 0 above 4 KiB. */
  name(bytes: number): number;
  /** Keeps the file under the name, for check. */
  keep(): void;
  /**
   * Makes row i of the report of that name again from the files that were kept, at a time
   * in seconds since 1970, and forgets them; returns the answer's length. The answer is
   * JSON: {"row": what package recheck says of the row, or null; "error": why it is}.
   */
  check(i: number, now: number): number;
  /**
   * Counts the requests of row i of the report of that name that met every limit, from the
   * files that were kept, and forgets them; the file last handed over, which was not kept,
   * states the limits, such as ttft_p99<200ms,itl_p50<30ms. Returns the answer's length.
   * The answer is JSON: {"good": package recheck's Good, or null; "error": why it is}.
   */
  goodput(i: number): number;
  /**
   * Judges every row of the files that were kept, reports of ours or results of other
   * tools, at a time in seconds since 1970, and forgets them; returns the answer's length.
   * The answer is JSON: package recheck's Taken.
   */
  take(now: number): number;
  /** Where the last answer begins; it stays until the next one. */
  text(): number;
}

// What lean.wasm exports: a wasip1 reactor. Call _initialize once, then the rest.
// Pointers are byte offsets into memory; a view over memory is stale after any call,
// since a call may grow the memory.
export interface LeanExports extends WebAssembly.Exports {
  readonly memory: WebAssembly.Memory;
  _initialize(): void;
  /** Allocates slots float64 slots, zeroed, for good; returns where they begin. */
  buffer(slots: number): number;
  /**
   * Answers the packed query in the first slots slots of query, writes the packed
   * answer to answer, and returns the answer's length: 0 if a buffer is too short or
   * was not made by buffer, or a query does not have that many slots. What each slot
   * holds is internal/roofline's; gen writes the indexes that a page needs beside its
   * queries. NaN stands for what is not known.
   */
  ceiling(query: number, slots: number, answer: number): number;
  /**
   * What the sequences of a packed query keep in memory beside the weights, in bytes over
   * all devices; NaN where that is not known or so many slots are no packed query.
   */
  kept(query: number, slots: number): number;
  /**
   * Holds limits against rows, each packed one after the other: a row is 17 slots (p50
   * p90 p95 p99 of TTFT, ITL, TPOT and E2E in ms, what ranks; NaN where not measured), a
   * limit 3 (which of those latencies from 0, the percentile in permille, the most in ms).
   * Writes to answer how many rows have every percentile asked for and meet every limit,
   * how many meet them only as far as their percentiles go, how many have every
   * percentile, the nearest row and the limit that most rows miss when nothing answers
   * (else −1), then the places of the first, best first, and of the second. Nothing
   * answers where the first is empty, unless no row has the percentiles and the second
   * is not. Returns how many slots that took, at most n + 5; 0 if a buffer is refused.
   */
  choose(rows: number, n: number, limits: number, k: number, answer: number): number;
  /**
   * Holds k limits against one row and writes 3 slots for each: what was found in ms
   * (NaN: nothing), at which percentile in permille (a row with few samples has no
   * p99), and 1 if the limit is met. Returns how many slots; 0 if a buffer is refused.
   */
  hold(row: number, limits: number, k: number, answer: number): number;
  /**
   * Of n loads that are not measured, each 7 slots (hard and likely TTFT, TPOT and E2E in
   * ms, GPU-minutes), the one whose measuring would most likely meet k limits: writes its
   * place (-1 where no roof allows them), and 1 if it meets them where it comes as near its
   * roofs as measured runs did. Returns 2; 0 as above.
   */
  promising(hopes: number, n: number, limits: number, k: number, answer: number): number;
  /**
   * Holds k rungs of a ladder against n of a reference; a rung is 4 slots (load, figure,
   * its interval's ends). Writes how many loads both have and how many times they cross,
   * then 5 slots a load (load, the ladder's figure ÷ the reference's, its ends, 1 where the
   * two are shown to differ) and 4 a crossing (estimate, its ends, 1 where the reference is
   * greater below it). Returns how many slots that took, at most 2 + 9 n; 0 as above.
   */
  against(reference: number, n: number, ladder: number, k: number, answer: number): number;
  /**
   * Writes for each of n points, two slots each, 1 where nothing is at least as great on
   * both axes and greater on one, else 0. Returns n; 0 as above.
   */
  front(points: number, n: number, answer: number): number;
  /**
   * Writes what a million tokens of input, of output and of both cost at a price an hour
   * of one GPU, from its output and its input and output tok/s; NaN where a rate is not
   * known. Returns 3; 0 as above.
   */
  cost(price: number, output: number, total: number, answer: number): number;
  /**
   * Writes a roof of a packed query with its numbers filled in: 0 the one that binds
   * decode, 1 prefill's, 2 what the links ask of a step. Returns the length in bytes of
   * UTF-8, 0 when there is none or the query is refused.
   */
  formula(query: number, slots: number, of: number): number;
  /**
   * Draws the roofline of a packed query as an SVG element without an accessible name,
   * its arithmetic roof labelled in a text of class peak without its type,
   * width px wide (296 or 720), with k measured rows, each 3 slots: FLOP per byte, FLOP/s
   * of one device, and 0 for another layout or other types, 1 for the query's, 2 above its
   * own roof. A row's mark bears its place as data-row. Returns the length in bytes of
   * UTF-8, 0 when the query has no ceiling.
   */
  plot(query: number, slots: number, width: number, rows: number, k: number): number;
  /** Where the last text of formula or plot begins; it stays until the next one. */
  text(): number;
}

// Ceilings written by hand in JavaScript: the arithmetic of internal/roofline, operation
// by operation, so that the two give the same digits and their times can be compared.

const [
  BATCH, CONTEXT, ISL, CACHED, CHUNK, OSL, CONCURRENCY, TP, PP, DP, DCP, EP, GAMMA, ACCEPTANCE, ACCEPTED, MTP_DRAFTS,
  READ_PARAMS, TOTAL_PARAMS, HIDDEN, HEAD_PARAMS, HEAD_BYTES, REST_PARAMS, REST_BYTES, RESIDENT, RESIDENT_EXPERTS,
  DRAFT_BYTES, DRAFT_PARAMS, DRAFT_RESIDENT, MAX_CONTEXT,
  PEAK_LAYERS, PEAK_PLAIN, PEAK_ATTENTION, PEAK_INDEX, BANDWIDTH, LINK, LINK_PEER, LINK_REDUCES, MEMORY,
  KINDS, HEAD_SLOTS,
] = Array(40).keys();

const [
  LAYERS, BYTES, PARAMS, PLAIN_PARAMS, EXPERTS, TOP_K, EXPERT_BYTES, EXPERT_PARAMS, KV, INDEX_KV, WINDOW, CHUNKS,
  SELECTED, SHARDS, STATE, ATTENTION, PREFILL_ATTENTION, INDEX, STATE_FLOPS, REDUCES, KIND_SLOTS,
] = Array(21).keys();

const [
  READ_BYTES, WEIGHT_BYTES_READ, EXPERT_BYTES_READ, EXPERT_BYTES_EXPECTED, KV_BYTES_READ, STATE_BYTES_READ,
  DISTINCT_EXPECTED, MATRIX_FLOPS, EXPERT_FLOPS, HEAD_FLOPS, ATTENTION_FLOPS, STATE_FLOPS_OUT,
  MEMORY_MS, COMPUTE_MS, COMMUNICATION_MS, STEP_HARD, STEP_EXPECTED, STEP_OP_WISE, STEP_SERIAL,
  RATE_HARD, RATE_EXPECTED, TOKENS_PER_STEP, PREFILL_FLOPS, PREFILL_HARD, PREFILL_EXPECTED, BINDING, PREFILL_BINDING,
  FITS, MAX_CONCURRENCY, SERVING, SERVING_EXPECTED, SERVING_PER_GPU, SERVING_TPOT, KV_PER_TOKEN, RESIDENT_BYTES, OUT_SLOTS,
] = Array(36).keys();

export { BATCH, CONTEXT, OUT_SLOTS };

const MEMORY_BINDS = 1, COMPUTE_BINDS = 2, COMMUNICATION_BINDS = 3;
const most = 1e12;
const mostKinds = 1024;

/** Answers the packed question q into out. */
export function ceiling(q, out) {
  out.fill(NaN);
  out[BINDING] = out[PREFILL_BINDING] = 0;
  if (!packed(q) || !counts(q)) return;
  decode(q, out);
  room(q, out);
  if (q[ISL] > q[CACHED]) {
    prefill(q, out);
    if (q[OSL] >= 1 && q[CONCURRENCY] >= 1) serving(q, out);
  }
}

function packed(q) {
  const n = q[KINDS];
  return q.length >= HEAD_SLOTS && n >= 0 && n <= mostKinds && Number.isInteger(n) && q.length === HEAD_SLOTS + n * KIND_SLOTS;
}

function counts(q) {
  for (let slot = CONTEXT; slot <= GAMMA; slot++) if (!(q[slot] >= 0 && q[slot] <= most)) return false;
  return q[TP] >= 1 && q[PP] >= 1 && q[DP] >= 1 && q[DCP] >= 1 && q[BATCH] > 0 && q[BATCH] <= most;
}

function seen(q, k, s) {
  if (q[k + CHUNKS] > 0 && s > q[k + CHUNKS]) return s - q[k + CHUNKS] * Math.floor((s - 1) / q[k + CHUNKS]);
  if (q[k + WINDOW] > 0 && s > q[k + WINDOW]) return q[k + WINDOW];
  if (q[k + SELECTED] > 0 && s > q[k + SELECTED]) return q[k + SELECTED];
  return s;
}

const seenOver = (q, k, from, n) => seenUpTo(q, k, from + n) - seenUpTo(q, k, from);

function seenUpTo(q, k, s) {
  const limit = q[k + SELECTED] > 0 ? q[k + SELECTED] : q[k + WINDOW];
  const c = q[k + CHUNKS];
  if (c > 0 && s > c) {
    const whole = Math.floor(s / c);
    return whole * triangle(c) + triangle(s - whole * c);
  }
  if (limit > 0 && s > limit) return triangle(limit) + (s - limit) * limit;
  return triangle(s);
}

const triangle = n => n * (n + 1) / 2;

function copies(q, k) {
  const ways = q[k + SHARDS] * q[DCP];
  return q[TP] > ways ? q[TP] / ways : 1;
}

function distinct(experts, topK, tokens) {
  if (!(tokens > 1)) return topK;
  const whole = Math.floor(tokens);
  const miss = 1 - topK / experts;
  const left = power(miss, whole);
  let here = experts * (1 - left);
  if (tokens > whole) here += (tokens - whole) * (experts * (left * (1 - miss)));
  return Math.min(Math.max(here, topK), experts);
}

function power(x, n) {
  let p = 1;
  let k = Math.min(Math.floor(n), 2 ** 62);
  for (; k >= 2 ** 31; k = Math.floor(k / 2)) { // beyond what bits hold
    if (k % 2 === 1) p *= x;
    x *= x;
  }
  for (k |= 0; k > 0; k >>= 1) {
    if (k & 1) p *= x;
    x *= x;
  }
  return p;
}

class Step {
  constructor() {
    this.weights = this.experts = this.kv = this.state = 0;
    this.matrix = this.plain = this.expertFLOPs = this.head = this.attention = this.updates = this.index = 0;
    this.links = this.turns = 0;
    this.likelyExperts = this.likelyLinks = this.reached = this.routed = 0;
  }
  choose() {
    this.experts = this.likelyExperts;
    this.links = this.likelyLinks;
  }
  bytes() { return this.weights + this.experts + this.kv + this.state; }
  own() { return this.turns > 1 ? this.turns : 1; }
  memory(q, devices) { return (this.weights + this.experts + (this.kv + this.state) * this.own()) / (q[BANDWIDTH] * devices); }
  matrices(q, devices) {
    const t = (this.matrix + this.expertFLOPs) / (q[PEAK_LAYERS] * devices);
    return t + (this.plain + this.head + this.updates) / (q[PEAK_PLAIN] * devices);
  }
  attending(q, devices) {
    let t = 0;
    if (this.attention > 0) t = this.attention / (q[PEAK_ATTENTION] * devices);
    if (this.index > 0) t += this.index / (q[PEAK_INDEX] * devices);
    return t * this.own();
  }
  compute(q, devices) { return this.matrices(q, devices) + this.attending(q, devices); }
}

function stepOf(q, b, s, likely) {
  const tokens = b * (q[GAMMA] + 1);
  const w = pass(q, tokens, tokens, likely);
  for (let i = 0, k = HEAD_SLOTS; i < q[KINDS]; i++, k += KIND_SLOTS) {
    const n = q[k + LAYERS];
    const read = seen(q, k, s);
    const cached = q[k + KV] * read + q[k + INDEX_KV] * s;
    w.kv += n * b * cached * copies(q, k);
    w.state += 2 * (n * b) * q[k + STATE];
    w.attention += n * tokens * (q[k + ATTENTION] * read);
    w.index += n * tokens * (q[k + INDEX] * s);
  }
  w.head = 2 * tokens * q[HEAD_PARAMS];
  if (b < q[DP]) w.turns = q[DP] / b;
  return w;
}

function pass(q, tokens, routed, likely) {
  const w = new Step();
  const dp = q[DP];
  const sum = allReduce(q, q[TP], tokens / dp);
  let layers = q[REST_BYTES] + q[HEAD_BYTES];
  w.matrix = q[REST_PARAMS];
  for (let i = 0, k = HEAD_SLOTS; i < q[KINDS]; i++, k += KIND_SLOTS) {
    const n = q[k + LAYERS];
    layers += n * q[k + BYTES];
    w.matrix += n * q[k + PARAMS];
    w.plain += n * q[k + PLAIN_PARAMS];
    w.updates += n * tokens * q[k + STATE_FLOPS];
    const routes = q[k + EXPERTS] > 0;
    if (!routes || dp === 1) {
      const sums = n * (q[k + REDUCES] * sum);
      w.links += sums;
      w.likelyLinks += sums;
    }
    if (!routes) continue;
    w.experts += n * q[k + TOP_K] * q[k + EXPERT_BYTES];
    w.expertFLOPs += n * q[k + TOP_K] * q[k + EXPERT_PARAMS];
    if (dp !== 1) w.links += n * reaching(q, k, sum, tokens, false);
    if (likely) {
      const d = distinct(q[k + EXPERTS], q[k + TOP_K], routed);
      w.likelyExperts += n * d * q[k + EXPERT_BYTES];
      w.reached += n * d;
      w.routed += n;
      if (dp !== 1) w.likelyLinks += n * reaching(q, k, sum, tokens, true);
    }
  }
  w.weights = dp * layers;
  w.matrix *= 2 * tokens;
  w.plain *= 2 * tokens;
  w.expertFLOPs *= 2 * tokens;
  return w;
}

function reaching(q, k, sum, tokens, expected) {
  const sums = (q[k + REDUCES] - 1) * sum;
  const group = q[TP] * q[DP];
  if (q[EP] === 0) return sums + allReduce(q, group, tokens);
  return sums + allToAll(q, k, tokens / group, expected);
}

function allReduce(q, t, tokens) {
  if (t === 1) return 0;
  const share = q[LINK_REDUCES] === 1 ? 1 : 2 * (t - 1) / t;
  return share * (tokens * q[HIDDEN] * 2) / linkOf(q, t);
}

function allToAll(q, k, tokens, expected) {
  const ep = q[EP];
  const each = q[k + EXPERTS] / ep;
  let others = Math.max(Math.ceil(q[k + TOP_K] / each) - 1, 0);
  if (expected) others = Math.max(others, (ep - 1) * (1 - power(1 - 1 / ep, q[k + TOP_K])));
  if (others === 0) return 0;
  return others * (tokens * q[HIDDEN] * 3) / linkOf(q, ep);
}

const linkOf = (q, t) => q[LINK_PEER] > 0 ? q[LINK_PEER] * (t - 1) : q[LINK];

function tokensPerStep(q) {
  const gamma = q[GAMMA], alpha = q[ACCEPTANCE];
  if (gamma === 0) return 1;
  if (q[ACCEPTED] > 0) return q[ACCEPTED];
  if (!(alpha >= 0 && alpha <= 1)) return NaN;
  if (alpha === 1) return gamma + 1;
  return (1 - power(alpha, gamma + 1)) / (1 - alpha);
}

let binding = 0;

function greatest(memory, compute, communication) {
  compute = known0(0, compute);
  binding = 0;
  if (Number.isNaN(memory) || Number.isNaN(communication)) return NaN;
  if (memory >= compute && memory >= communication) return binding = MEMORY_BINDS, memory;
  if (compute >= communication) return binding = COMPUTE_BINDS, compute;
  return binding = COMMUNICATION_BINDS, communication;
}

const known0 = (a, b) => b > a ? b : a;

function larger(a, b) {
  if (Number.isNaN(a) || Number.isNaN(b)) return NaN;
  return a > b ? a : b;
}

function decode(q, out) {
  const b = q[BATCH], s = q[CONTEXT], pp = q[PP];
  const stage = q[TP] * q[DP];
  const w = stepOf(q, b, s, true);
  let token = 0;
  for (let i = 0, k = HEAD_SLOTS; i < q[KINDS]; i++, k += KIND_SLOTS) token += q[k + LAYERS] * (q[k + KV] + q[k + INDEX_KV]);
  out[KV_PER_TOKEN] = token;
  out[WEIGHT_BYTES_READ] = w.weights;
  out[EXPERT_BYTES_READ] = w.experts;
  out[KV_BYTES_READ] = w.kv;
  out[STATE_BYTES_READ] = w.state;
  out[READ_BYTES] = w.bytes();
  out[MATRIX_FLOPS] = w.matrix + w.plain;
  out[EXPERT_FLOPS] = w.expertFLOPs;
  out[HEAD_FLOPS] = w.head;
  out[ATTENTION_FLOPS] = w.attention + w.index;
  out[STATE_FLOPS_OUT] = w.updates;
  out[EXPERT_BYTES_EXPECTED] = w.likelyExperts;
  if (w.routed > 0) out[DISTINCT_EXPECTED] = w.reached / w.routed;

  const devices = stage * pp;
  let memory = w.memory(q, devices), compute = w.compute(q, devices), links = w.links / pp;
  let likely = w;
  if (pp > 1) {
    const alone = stepOf(q, 1, s, false);
    memory = larger(memory, alone.memory(q, stage));
    compute = larger(compute, alone.compute(q, stage));
    links = larger(links, alone.links);
    likely = stepOf(q, larger(b / pp, 1), s, true);
  }
  likely.choose();
  out[MEMORY_MS] = memory * 1e3;
  out[COMPUTE_MS] = compute * 1e3;
  out[COMMUNICATION_MS] = links * 1e3;
  const drafts = draftTime(q, b, devices);
  const yielded = tokensPerStep(q);
  const hard = greatest(memory, compute, links);
  out[BINDING] = binding;
  const expected = greatest(likely.memory(q, stage), likely.compute(q, stage), likely.links);
  out[TOKENS_PER_STEP] = yielded;
  out[STEP_HARD] = (hard + drafts) * 1e3;
  out[STEP_EXPECTED] = (expected + drafts) * 1e3;
  let cache = likely.kv * likely.own() / (q[BANDWIDTH] * stage);
  const attending = likely.attending(q, stage);
  if (attending > cache) cache = attending;
  const others = (likely.weights + likely.experts + likely.state * likely.own()) / (q[BANDWIDTH] * stage);
  out[STEP_OP_WISE] = (larger(cache + known0(others, likely.matrices(q, stage)), likely.links) + drafts) * 1e3;
  out[STEP_SERIAL] = (larger(cache + known0(others, likely.compute(q, stage)), likely.links) + drafts) * 1e3;
  out[RATE_HARD] = b * yielded / (hard + drafts);
  out[RATE_EXPECTED] = b * yielded / (expected + drafts);
}

function draftTime(q, b, devices) {
  const gamma = q[GAMMA];
  if (gamma === 0 || q[MTP_DRAFTS] !== 1) return 0;
  const memory = q[DRAFT_BYTES] / (q[BANDWIDTH] * devices);
  const compute = 2 * b * q[DRAFT_PARAMS] / (q[PEAK_LAYERS] * devices);
  return gamma * known0(memory, compute);
}

function prefill(q, out) {
  const fresh = q[ISL] - q[CACHED];
  const chunk = q[CHUNK] > 0 ? Math.min(q[CHUNK], fresh) : fresh;
  const passes = Math.ceil(fresh / chunk);
  const w = prompt(q, fresh, chunk, true);
  out[PREFILL_FLOPS] = w.matrix + w.plain + w.expertFLOPs + w.head + w.attention + w.index + w.updates;
  const hard = greatest(promptMemory(q, w, passes), promptCompute(q, w, q[PP]), w.links / q[PP]);
  const binds = binding;
  const inTurn = promptCompute(q, w, 1);
  if (Number.isNaN(inTurn)) return;
  w.choose();
  let reading = promptMemory(q, w, passes);
  const last = fresh - (passes - 1) * chunk;
  if (last < chunk) {
    const rest = pass(q, last, last, true);
    rest.choose();
    w.kv = 0;
    reading += promptMemory(q, rest, 1) - promptMemory(q, w, 1);
  }
  const expected = greatest(reading, inTurn, w.links);
  out[PREFILL_BINDING] = binds;
  out[PREFILL_HARD] = hard * 1e3;
  out[PREFILL_EXPECTED] = expected * 1e3;
}

function prompt(q, fresh, chunk, likely) {
  const w = pass(q, fresh, chunk, likely);
  for (let i = 0, k = HEAD_SLOTS; i < q[KINDS]; i++, k += KIND_SLOTS) {
    const n = q[k + LAYERS];
    w.attention += n * (q[k + PREFILL_ATTENTION] * seenOver(q, k, q[CACHED], fresh));
    const pairs = fresh * q[CACHED] + triangle(fresh);
    w.index += n * (q[k + INDEX] * pairs);
    const prefix = q[k + KV] * seen(q, k, q[CACHED]) + q[k + INDEX_KV] * q[CACHED];
    w.kv += n * q[DP] * prefix * copies(q, k);
  }
  w.head = 2 * q[HEAD_PARAMS];
  return w;
}

function promptMemory(q, w, passes) {
  const head = q[DP] * q[HEAD_BYTES];
  return (passes * (w.weights - head + w.experts) + head + w.kv) / (q[BANDWIDTH] * q[TP] * q[DP]);
}

function promptCompute(q, w, stages) {
  const own = q[TP] * stages;
  const together = w.compute(q, own * q[DP]);
  if (q[DP] === 1) return together;
  const experts = w.expertFLOPs;
  w.expertFLOPs = 0;
  const alone = w.compute(q, own);
  w.expertFLOPs = experts;
  return larger(alone, together);
}

function serving(q, out) {
  const devices = q[TP] * q[PP] * q[DP];
  const first = out[PREFILL_HARD] / 1e3;
  if (Number.isNaN(first)) return;
  const r = requestOf(q, devices);
  const most = q[CONCURRENCY] / (first + r.steps * r.alone);
  const hard = Math.min(1 / r.hard, most);
  out[SERVING] = q[OSL] * hard;
  out[SERVING_EXPECTED] = q[OSL] * Math.min(1 / r.expected, hard);
  out[SERVING_PER_GPU] = out[SERVING] / devices;
  const further = q[OSL] - 1;
  if (further > 0) out[SERVING_TPOT] = r.steps * r.alone / further * 1e3;
}

function requestOf(q, devices) {
  let c = q[CONCURRENCY];
  const tokens = q[GAMMA] + 1;
  const fresh = q[ISL] - q[CACHED], further = q[OSL] - 1;
  const first = prompt(q, fresh, fresh, false);
  const steps = larger(further / tokensPerStep(q), Math.ceil(further / tokens));
  const fit = seats(q, held(q, q[ISL]));
  if (q[CACHED] === 0 && fit >= 1 && fit < c) c = fit;
  const w = pass(q, c * tokens, c * tokens, true);
  const share = over(w, c), each = over(w, c);
  share.head = each.head = 2 * tokens * q[HEAD_PARAMS];
  const lone = stepOf(q, 1, 0, false);
  lone.kv = lone.state = 0;
  if (further > 0) {
    for (let i = 0, k = HEAD_SLOTS; i < q[KINDS]; i++, k += KIND_SLOTS) {
      const n = q[k + LAYERS];
      const mean = seenOver(q, k, q[ISL], further) / further;
      const context = q[ISL] + q[OSL] / 2;
      const attention = n * tokens * (q[k + ATTENTION] * mean);
      const index = n * tokens * (q[k + INDEX] * context);
      const read = n * (q[k + KV] * mean + q[k + INDEX_KV] * context) * copies(q, k);
      const state = 2 * n * q[k + STATE];
      for (const to of [share, each, lone]) {
        to.attention += attention;
        to.index += index;
        to.kv += read;
        to.state += state;
      }
      const own = q[k + WINDOW] > 0 ? seenOver(q, k, q[ISL] - q[CACHED], further) / further : Math.max(mean - q[CACHED], 0);
      const common = q[k + KV] * (mean - own) + q[k + INDEX_KV] * q[CACHED];
      share.kv -= n * common * copies(q, k) * (1 - 1 / c);
    }
  }
  const links = (first.links + steps * share.links) / q[PP];
  const compute = first.compute(q, devices) + steps * share.compute(q, devices);
  const hard = greatest(steps * share.memory(q, devices), compute, links);
  each.choose();
  const expected = greatest(steps * each.memory(q, devices), compute, links);
  const stage = q[TP] * q[DP];
  const alone = greatest(lone.memory(q, stage), lone.compute(q, stage), lone.links) + draftTime(q, 1, stage * q[PP]);
  return { hard, expected, alone, steps };
}

function over(w, c) {
  const s = new Step();
  s.weights = w.weights / c;
  s.experts = w.experts / c;
  s.likelyExperts = w.likelyExperts / c;
  s.matrix = w.matrix / c;
  s.plain = w.plain / c;
  s.expertFLOPs = w.expertFLOPs / c;
  s.updates = w.updates / c;
  s.links = w.links / c;
  s.likelyLinks = w.likelyLinks / c;
  return s;
}

function room(q, out) {
  const memory = memoryOf(q), weights = weightsOf(q);
  out[RESIDENT_BYTES] = weights;
  let each = held(q, q[CONTEXT]);
  const need = weights + inCopies(q, q[BATCH], Math.ceil) * each;
  if (Number.isNaN(memory) || Number.isNaN(need)) return;
  out[FITS] = need <= memory ? 1 : 0;
  if (q[CONTEXT] === 0) {
    if (q[ISL] + q[OSL] === 0) return;
    each = held(q, q[ISL] + q[OSL]);
  }
  if (!(each > 0)) return;
  out[MAX_CONCURRENCY] = seats(q, each);
}

function seats(q, each) {
  const memory = memoryOf(q), weights = weightsOf(q);
  if (!(each > 0) || Number.isNaN(memory) || Number.isNaN(weights)) return NaN;
  let n = Math.min(known0(0, inCopies(q, Math.floor((memory - weights) / each), Math.floor)), most);
  while (n > 0 && weights + n * each > memory) n -= q[DP];
  return known0(0, n);
}

const memoryOf = q => q[MEMORY] * q[TP] * q[PP] * q[DP];

function weightsOf(q) {
  const weights = q[DP] * q[RESIDENT] + q[RESIDENT_EXPERTS];
  return q[MTP_DRAFTS] === 1 ? weights + q[DRAFT_RESIDENT] : weights;
}

function inCopies(q, sequences, round) {
  const dp = q[DP];
  return dp === 1 ? sequences : dp * round(sequences / dp);
}

function held(q, length) {
  let sum = 0;
  for (let i = 0, k = HEAD_SLOTS; i < q[KINDS]; i++, k += KIND_SLOTS) {
    let tokens = length;
    if (q[k + WINDOW] > 0) tokens = Math.min(tokens, q[k + WINDOW]);
    if (q[k + CHUNKS] > 0) tokens = Math.min(tokens, q[k + CHUNKS]);
    const cached = (q[k + KV] * tokens + q[k + INDEX_KV] * length) * copies(q, k);
    sum += q[k + LAYERS] * (cached + q[k + STATE]);
  }
  return sum;
}

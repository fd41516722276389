// What a search finds, and in which order. Pure, so that its answers can be worked out by
// hand and tested without a page.

/** One thing that can be found, as search/index.json has it. */
export type Entry = readonly [kind: number, title: string, sub: string, address: string, words: string];

export interface Index {
  kinds: string[];
  entries: Entry[];
}

// What a word of the query is worth by where it stands, the whole word or its beginning,
// and by likeness where no entry has it so.
const worth = { title: [12, 8], other: [5, 3], misspelt: 4, within: 2, whole: 20, covered: 4 } as const;
const shortestMisspelt = 4; // letters: two words of three letters are too easily alike

/** The words of a text: small letters and digits, a point between two of them being one of theirs. */
export function words(text: string): string[] {
  return text.normalize("NFKD").toLowerCase().split(/[^a-z0-9.]+/).map((w) => w.replace(/^\.+|\.+$/g, "")).filter((w) => w !== "");
}

interface Known {
  title: string[];
  other: string[];
}

/** Makes the search over an index: at most most finds for a query, the best first. */
export function ranker(index: Index): (query: string, most: number) => Entry[] {
  const known = index.entries.map(([, title, sub, , more]): Known => ({ title: words(title), other: words(`${sub} ${more}`) }));
  return (query, most) => {
    const asked = [...new Set(words(query))];
    if (asked.length === 0) return [];
    const scores = asked.map((word) => scored(word, known));
    const whole = words(query).join(" ");
    const all = index.entries.map((entry, i) => {
      const hits = scores.map((s) => s[i]!);
      const { title } = known[i]!;
      let score = hits.reduce((sum, s) => sum + s, 0);
      score += worth.covered * Math.min(1, hits.filter((s) => s >= worth.title[1]).length / title.length);
      if (title.join(" ") === whole) score += worth.whole;
      return { entry, i, score, matched: hits.filter((s) => s > 0).length };
    });
    const matched = Math.max(0, ...all.map((a) => a.matched)); // every word where an entry has them all
    return all.filter((a) => a.matched === matched && matched > 0)
      .sort((a, b) => b.score - a.score || a.entry[0] - b.entry[0] || a.i - b.i)
      .slice(0, most).map((a) => a.entry);
  };
}

/** What one word of the query is worth to each entry. */
function scored(word: string, known: Known[]): number[] {
  const exact = known.map((k) => Math.max(at(word, k.title, worth.title), at(word, k.other, worth.other)));
  if (exact.some((s) => s > 0)) return exact;
  return known.map((k) => Math.max(alike(word, k.title) ? worth.misspelt : 0, alike(word, k.other) ? worth.misspelt / 2 : 0, within(word, k.title) ? worth.within : 0));
}

function at(word: string, words: string[], [whole, beginning]: readonly [number, number]): number {
  if (words.includes(word)) return whole;
  return words.some((w) => w.startsWith(word)) ? beginning : 0;
}

function within(word: string, words: string[]): boolean {
  return word.length >= 3 && words.some((w) => w.includes(word));
}

/** One letter off, two of eight or more; a longer word may go on behind the likeness. */
function alike(word: string, words: string[]): boolean {
  if (word.length < shortestMisspelt) return false;
  const most = word.length < 8 ? 1 : 2;
  return words.some((w) => distance(word, w, most) <= most || w.length > word.length && w[0] === word[0] && distance(word, w.slice(0, word.length), most) <= most);
}

/** Letters to put in, leave out, exchange or swap with the next; above most when it is more. */
export function distance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const line = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let d = Math.min(last[j]! + 1, line[j - 1]! + 1, last[j - 1]! + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) d = Math.min(d, before[j - 2]! + 1);
      line.push(d);
    }
    [before, last] = [last, line];
  }
  return last[b.length]!;
}

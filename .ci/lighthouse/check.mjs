// Lighthouse over the kinds of page that readers open first, served as GitHub Pages serves
// them: under a sub-path, no rewriting, gzip for text, ten minutes of cache.
//
//   node check.mjs SITE BASE [PAGE…]
//
// Prints every score and fails below 98 in any category or from a shift of 0.02 on.
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { gzipSync } from "node:zlib";
import { launch } from "chrome-launcher";
import lighthouse from "lighthouse";

const LEAST = 98;
const MOST_SHIFT = 0.02;
const ROUNDS = 3; // of a page whose speed a busy host spoiled

const [site, base, ...asked] = process.argv.slice(2);
if (!site || !base?.startsWith("/") || !base.endsWith("/") || !existsSync(join(site, "index.html"))) {
  console.error("usage: node check.mjs SITE BASE [PAGE…]\nSITE is a folder that gen wrote for --base BASE, such as /rowproof/");
  process.exit(2);
}

const types = {
  ".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "application/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8", ".xml": "application/xml", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
  ".csv": "text/csv; charset=utf-8", ".wasm": "application/wasm", ".png": "image/png", ".gz": "application/gzip",
};
const packs = new Set([".html", ".css", ".js", ".json", ".xml", ".svg", ".txt", ".csv", ".wasm"]);

function answer(request, response) {
  const path = decodeURIComponent(new URL(request.url, "http://host").pathname);
  let file = path.startsWith(base) ? join(site, normalize("/" + path.slice(base.length))) : "";
  if (file && existsSync(file) && statSync(file).isDirectory()) {
    if (!path.endsWith("/")) {
      response.writeHead(301, { Location: path + "/" }).end();
      return;
    }
    file = join(file, "index.html");
  }
  const found = file !== "" && existsSync(file);
  if (!found) file = join(site, "404.html");
  const kind = extname(file);
  const head = { "Content-Type": types[kind] ?? "application/octet-stream", "Cache-Control": "max-age=600" };
  if (packs.has(kind) && /\bgzip\b/.test(request.headers["accept-encoding"] ?? "")) {
    const packed = gzipSync(readFileSync(file));
    response.writeHead(found ? 200 : 404, { ...head, "Content-Encoding": "gzip", "Content-Length": packed.length, Vary: "Accept-Encoding" }).end(packed);
    return;
  }
  response.writeHead(found ? 200 : 404, { ...head, "Content-Length": statSync(file).size });
  createReadStream(file).pipe(response);
}

// Of each kind the page that holds most, so that no other of it is slower.
function largest(folder) {
  if (!existsSync(join(site, folder))) return [];
  const pages = readdirSync(join(site, folder), { withFileTypes: true })
    .filter((e) => e.isDirectory() && existsSync(join(site, folder, e.name, "index.html")))
    .map((e) => [statSync(join(site, folder, e.name, "index.html")).size, `${folder}/${e.name}/`]);
  return pages.sort((a, b) => b[0] - a[0]).slice(0, 1).map((p) => p[1]);
}
const pages = asked.length ? asked : ["", ...largest("recipes"), ...largest("r"), ...["compare/", "roofline/"].filter((p) => existsSync(join(site, p, "index.html")))];

const server = createServer(answer);
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const origin = `http://127.0.0.1:${server.address().port}`;
const chrome = await launch({ chromePath: process.env.CHROME_PATH, chromeFlags: ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-component-update", "--no-first-run"] });

async function measure(page) {
  const run = await lighthouse(origin + base + page, { port: chrome.port, logLevel: "error", onlyCategories: ["performance", "accessibility", "best-practices", "seo"] });
  const { categories, audits } = run.lhr;
  const scores = Object.fromEntries(Object.entries(categories).map(([id, c]) => [id, c.score === null ? NaN : Math.round(c.score * 100)]));
  const lost = Object.values(categories).flatMap((c) => c.auditRefs
    .filter((ref) => ref.weight > 0 && audits[ref.id].score !== null && audits[ref.id].score < 0.9)
    .map((ref) => `${audits[ref.id].title} ${audits[ref.id].displayValue ?? ""}`));
  const broken = Object.values(categories).flatMap((c) => c.auditRefs.filter((ref) => ref.weight > 0 && audits[ref.id].scoreDisplayMode === "error").map((ref) => ref.id));
  const value = (id) => audits[id]?.numericValue ?? NaN;
  return { scores, lost, broken, shift: value("cumulative-layout-shift"), paint: value("first-contentful-paint"), largest: value("largest-contentful-paint"), blocked: value("total-blocking-time") };
}

let failed = false;
console.log("performance accessibility best-practices seo    CLS  FCP ms  LCP ms  TBT ms  page");
try {
  for (const page of pages) {
    let got;
    for (let round = 0; round < ROUNDS; round++) {
      const next = await measure(page);
      if (!got || next.scores.performance > got.scores.performance) got = next;
      if (got.scores.performance >= LEAST) break;
    }
    const s = got.scores;
    const cell = (v, width, digits = 0) => (Number.isNaN(v) ? "?" : v.toFixed(digits)).padStart(width);
    console.log([cell(s.performance, 11), cell(s.accessibility, 13), cell(s["best-practices"], 14), cell(s.seo, 3), cell(got.shift, 6, 3), cell(got.paint, 7), cell(got.largest, 7), cell(got.blocked, 7), " /" + page].join(" "));
    const low = Object.values(s).some((v) => !(v >= LEAST));
    if (low || !(got.shift < MOST_SHIFT) || got.broken.length) {
      failed = true;
      for (const l of got.lost) console.log("    " + l);
      for (const id of got.broken) console.log(`    ${id} could not be judged`);
    }
  }
} finally {
  chrome.kill();
  server.close();
}
if (failed) {
  console.error(`lighthouse: want ${LEAST} at least in each category, and a layout shift below ${MOST_SHIFT}`);
  process.exit(1);
}

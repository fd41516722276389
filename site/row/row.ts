// Recomputes the page's ceiling in the reader's browser, after the page has been shown,
// and says whether it equals what gen published. The page holds
// <script type="application/json" id="ceiling-query">{"query": […], "answer": […],
// "names": […]}</script> (render's Recompute) and a line with id recomputed.
import { lean } from "../js/lean";
import { idle } from "../js/idle";
import "./verify";

interface Published {
  query: number[];
  answer: (number | null)[]; // null where the answer has none
  names: string[]; // what each slot of the answer is
}

const block = document.querySelector("#ceiling-query")?.textContent;
const line = document.querySelector("#recomputed");
if (block && line) {
  void idle().then(() => recompute(JSON.parse(block) as Published)).then((text) => { line.textContent = text; });
}

async function recompute(published: Published): Promise<string> {
  let here: number[];
  try {
    here = (await lean()).ceiling(published.query);
  } catch (reason) {
    return `Recomputing is off: the module did not load (${reason instanceof Error ? reason.message : String(reason)}).`;
  }
  const differs = published.names.flatMap((name, i) => {
    const [was, is] = [published.answer[i] ?? NaN, here[i] ?? NaN];
    return Object.is(was, is) ? [] : [`${name} ${was} published, ${is} recomputed`];
  });
  const figures = published.answer.filter((v) => v !== null).length;
  return differs.length === 0
    ? `Recomputed here: all ${figures} figures of the ceiling equal.`
    : `Differs: ${differs.join("; ")}.`;
}

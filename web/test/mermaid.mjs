// Renders Mermaid texts with the real library: a JSON list of texts on stdin, a
// JSON list of {error, labels, arrows} on stdout.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { launch } from "./browser.mjs";

const texts = JSON.parse(await new Response(process.stdin).text());
const main = createRequire(import.meta.url).resolve(process.env.MERMAID ?? "mermaid");
const browser = await launch();
const page = await browser.newPage();
await page.setContent("<!doctype html><body></body>");
await page.addScriptTag({ path: join(dirname(main), "mermaid.min.js") });
const out = await page.evaluate(async (texts) => {
  mermaid.initialize({ startOnLoad: false, securityLevel: "strict", maxEdges: 5000, maxTextSize: 5000000 });
  const out = [];
  for (const [i, text] of texts.entries()) {
    try {
      const { svg } = await mermaid.render("d" + i, text);
      const host = document.createElement("div");
      host.innerHTML = svg;
      document.body.replaceChildren(host);
      const lines = (e) => e.innerText.split("\n").map((l) => l.trim()).filter(Boolean).join("\n");
      out.push({
        error: "",
        labels: [...host.querySelectorAll(".node .nodeLabel")].map(lines),
        arrows: [...host.querySelectorAll(".edgeLabel .edgeLabel")].map(lines),
        edges: host.querySelectorAll(".edgePaths path, .edgePath path").length,
      });
    } catch (e) {
      out.push({ error: String(e.message ?? e), labels: [], arrows: [], edges: 0 });
    }
  }
  return out;
}, texts);
await browser.close();
console.log(JSON.stringify(out));

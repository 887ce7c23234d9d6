// What the tests of pages have in common: what a page may not do, and axe.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** violations of WCAG that axe finds in a page, as lines. It runs in the browser's own
 * world: the page's policy lets no other script in. */
export async function violations(page) {
  const client = await page.context().newCDPSession(page);
  const { frameTree } = await client.send("Page.getFrameTree");
  const { executionContextId } = await client.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id, worldName: "axe" });
  await client.send("Runtime.evaluate", { expression: axe + ";0", contextId: executionContextId });
  const { result } = await client.send("Runtime.evaluate", {
    expression: `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] }).then((r) => JSON.stringify(r.violations.map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 140) + " " + (n.any[0]?.message ?? "")).join(" | "))))`,
    contextId: executionContextId, awaitPromise: true,
  });
  return JSON.parse(result.value ?? '["axe did not run"]');
}

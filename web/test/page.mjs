// Looks at pages with a browser, as a reader would: node page.mjs FOLDER, where the
// pages are that TestPages writes. It prints what is wrong, a line each.
// With GRAPHRUN_SHOTS it leaves pictures of all views there.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launch } from "./browser.mjs";
import { violations } from "./looked.mjs";

const folder = process.argv[2];
const shots = process.env.GRAPHRUN_SHOTS;
if (shots) mkdirSync(shots, { recursive: true });
const wrong = [];
const expect = (ok, what) => ok || wrong.push(what);
const browser = await launch();

// open shows a page, and notes what it may not do.
async function open(name, { width = 1280, height = 800, scheme = "light", hash = "" } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, reducedMotion: "reduce", });
  context.setDefaultTimeout(10_000);
  const page = await context.newPage();
  const where = `${name} ${width} ${scheme} ${hash}`;
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && wrong.push(`${where}: console: ${m.text()}`));
  page.on("pageerror", (e) => wrong.push(`${where}: ${e.message}`));
  page.on("request", (r) => /^(file|data):/.test(r.url()) || wrong.push(`${where}: asks for ${r.url()}`));
  await page.goto(`file://${join(folder, name)}.html${hash && "#" + hash}`);
  await page.waitForSelector(".box .name");
  return { page, context, where };
}

// Every view, in both lights and at both widths: no violation, nothing cut off.
const views = [
  ["flow", ["tab=flow", "tab=node&node=work", "tab=source&node=work"]],
  ["invalid", ["tab=source"]],
  ["run", ["tab=run", "tab=step&step=2", "tab=node&node=work", "tab=state", "tab=events", "tab=source"]],
  ["big", ["tab=step"]],
];
for (const [name, hashes] of views) {
  for (const [i, hash] of hashes.entries()) {
    for (const width of [1280, 360]) {
      for (const scheme of ["light", "dark"]) {
        // Without pictures each view is looked at in one of the four ways.
        if (!shots && (i + 2 * (width === 360) + (scheme === "dark")) % 4) continue;
        const { page, context, where } = await open(name, { width, scheme, hash });
        const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        expect(over <= 0, `${where}: wider than the window by ${over}`);
        for (const v of await violations(page)) wrong.push(`${where}: axe: ${v}`);
        if (shots) await page.screenshot({ path: join(shots, `${name}-${hash.replace(/\W+/g, "-")}-${width}-${scheme}.png`), fullPage: width < 900 });
        await context.close();
      }
    }
  }
}

// Each of these may end early: that is a finding too.
const attempt = (what, look) => look().catch((e) => wrong.push(`${what}: ${String(e.message).split("\n")[0]}`));

// A run is walked through by the slider and by keys, and the address follows.
await attempt("steps", async () => {
  const { page, context } = await open("run", { hash: "tab=step" });
  const status = (id) => page.$eval(`[data-path="${id}"]`, (e) => e.getAttribute("aria-label"));
  expect(/failed/.test(await status("work")), `the failed node says: ${await status("work")}`);
  await page.getByRole("slider", { name: "Step" }).fill("1");
  await page.waitForFunction(() => document.querySelector(".where").textContent.startsWith("1"));
  expect(/not reached/.test(await status("work")), `after step 1 a later node says: ${await status("work")}`);
  expect((await page.textContent(".side")).includes("1"), "the step beside is not the slider's");
  await page.waitForFunction(() => location.hash.includes("step=1"));
  await page.keyboard.press("Escape");
  await page.$eval("input[type=range]", (e) => e.blur());
  await page.keyboard.press("]");
  await page.waitForFunction(() => location.hash.includes("step=2"));
  const why = await page.textContent(".why");
  expect(/n < 3/.test(why) && /false|true/.test(why), `why says: ${why}`);
  expect(await page.locator(".diff .new").count() > 0, "no difference of the state");
  await page.reload();
  await page.waitForSelector(".box .name");
  expect((await page.textContent(".where")).startsWith("2"), "a reload forgets the step");
  await context.close();
});

// The page makes of the events what graphrun says that they come to.
await attempt("counts", async () => {
  const { page, context } = await open("run", { hash: "tab=run" });
  const { drawing } = JSON.parse(await page.$eval("#data", (e) => e.textContent));
  const words = { completed: "done", untouched: "not reached", failed: "failed" };
  for (const n of drawing.nodes) {
    const label = await page.$eval(`[data-path="${n.id}"]`, (e) => e.getAttribute("aria-label"));
    expect(label.includes(words[n.status]) && (n.visits < 2 || label.includes(`${n.visits} visits`)), `${n.id} is ${n.status} after ${n.visits} visits; the page says ${label}`);
  }
  const titles = await page.$$eval(".arrow > title", (all) => all.map((e) => e.textContent));
  for (const e of drawing.edges) expect(titles.some((t) => t.startsWith(`${e.from} → ${e.to}:`) && t.endsWith(`fired ${e.fired}×`)), `${e.from} → ${e.to} fired ${e.fired} times; the page says ${titles}`);
  for (const tab of ["run", "step", "node", "state", "events", "source", "run"]) await page.click(`#tab-${tab}`);
  await context.close();
});

// Nodes are found, chosen and walked by keys; a subgraph opens in its place.
await attempt("nodes", async () => {
  const { page, context } = await open("run", { hash: "tab=run" });
  await page.keyboard.press("/");
  await page.keyboard.type("inner");
  await page.keyboard.press("Enter");
  expect((await page.textContent(".side h2")).includes("inner"), "the search does not choose a node");
  const before = await page.locator(".box").count();
  await page.getByRole("button", { name: "Open the graph of inner" }).click();
  expect(await page.locator(".box").count() > before, "the subgraph does not open");
  await page.locator('[data-path="inner/leaf"]').click();
  expect((await page.textContent(".side h2")).includes("inner/leaf"), "a node of the subgraph can't be chosen");
  await page.keyboard.press("Escape");
  await page.locator('[data-path="count"]').focus();
  await page.keyboard.press("ArrowDown");
  await page.waitForFunction(() => ![undefined, "count"].includes(document.activeElement?.dataset.path));
  expect((await page.textContent(".side h2")).includes(await page.evaluate(() => document.activeElement.dataset.path)), "the arrow keys don't choose where they go");
  await context.close();
});

// Text of a run is text: the markup in it is shown, never read.
await attempt("text", async () => {
  const { page, context } = await open("run", { hash: "tab=state" });
  const shown = await page.textContent(".side");
  expect(shown.includes("<img src=x onerror=alert(1)>") && shown.includes("</script><script>"), "markup in the state is not shown as it is");
  expect(await page.locator(".side img, .side script").count() === 0, "markup in the state became elements");
  await context.close();
});

// A line of the source chooses its node; a finding stands at its line.
await attempt("source", async () => {
  const { page, context } = await open("invalid", { hash: "tab=source" });
  expect(await page.locator(".line.warning .found.warning").count() > 0, "no finding at its line");
  await page.locator(".line", { hasText: "idle:" }).first().click();
  await page.waitForFunction(() => location.hash.includes("node=idle"));
  // And back: a node's mark and list of findings lead to the line.
  const warned = page.locator(".box:has(.finding) [data-path=idle]");
  expect(await warned.count() === 1, "the node has no mark of its finding");
  await page.locator("#tab-node").click();
  await page.locator(".findings .found").first().press("Enter");
  await page.locator(".line.on .found").first().waitFor();
  await page.locator("#tab-flow").click();
  await page.locator(".box .finding").first().click();
  await page.locator(".line.on .found").first().waitFor();
  await context.close();
});

// A large run: what is not in sight is not drawn, and a step takes no time to show.
await attempt("large", async () => {
  const { page, context } = await open("big", { hash: "tab=events" });
  expect(await page.locator(".row").count() < 120, `${await page.locator(".row").count()} rows of events are drawn`);
  expect(await page.locator(".bar").count() < 600, `${await page.locator(".bar").count()} bars are drawn, one for nearly every execution`);
  expect(await page.locator(".minimap rect").count() > 0, "no map of a large graph");
  // The list is gone through by keys, from end to end, and leads to nodes.
  await page.locator(".rows").press("End");
  const last = (await page.textContent(".filters .hint")).split(" of ")[1].replaceAll(",", "");
  await page.waitForFunction((n) => document.querySelector(".row[aria-selected=true] .seq")?.textContent === n, last);
  await page.locator(".rows").press("PageUp");
  await page.locator(".rows").press("Home");
  await page.waitForFunction(() => document.querySelector(".rows").scrollTop === 0);
  await page.getByLabel("Kind of event").selectOption("node_completed");
  await page.locator(".rows").press("Home");
  await page.locator(".rows").press("Enter");
  await page.waitForFunction(() => location.hash.includes("node=n0"));
  await context.close();
});
await browser.close();
for (const line of wrong) console.log(line);
process.exit(wrong.length ? 1 : 0);

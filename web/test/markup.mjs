// Text of a run is text: markup in each text that a run can produce is shown as it is,
// and no element comes of it, in no view.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const all = new Set();
// m is markup that would be an element with an id, load something and run two scripts.
const m = (what) => (all.add(what), `</script></textarea></title><img id=mark-${what} src=x onerror=hit()><script>hit()</script>'"-->`);
const seenIn = /<img id=mark-([\w-]+) src=x/g;

const program = (out, err, code) => ({ kind: "exec", command: ["sh", "-c", `printf '%s' "$OUT"; printf '%s' "$ERR" >&2; exit ${code}`], env: { OUT: out, ERR: err } });

const flow = {
  graphrun: "v1", name: "marks", description: m("flow"), start: "says",
  state: {
    text: { type: "string", default: m("default"), description: m("key") },
    list: { type: "array", default: [m("element")] },
    thing: { type: "object", default: { [m("object-key")]: m("object-value") } },
    kind: { enum: ["plain", m("enum")], default: "plain" },
    answer: { type: "string" }, chosen: { type: "string" },
  },
  models: { default: "scripted/marks-script.yaml" },
  limits: { node_timeout: "60s", max_steps: 40 },
  parallel: { on_failure: "continue_others" },
  tools: { peek: { exec: { command: ["sh", "-c", `printf '%s' "$OUT"`], env: { OUT: m("tool-result") } }, description: "Looks.", parameters: { type: "object", properties: { what: { type: "string" } } } } },
  nodes: {
    says: { ...program(m("stdout"), m("stderr"), 0), description: m("node") },
    tells: { kind: "exec", command: ["sh", "-c", `printf '%s\\n' "$EVENTS" > "$GRAPHRUN_TASK_EVENTS"`], env: { EVENTS: [{ event: "progress", percent: 4, message: m("progress") }, { event: "custom", type: "found", data: { n: m("custom") } }].map((e) => JSON.stringify(e)).join("\n") } },
    model: { kind: "agent", prompt: m("prompt"), instructions: m("instructions"), tools: ["peek"], writes: ["answer"] },
    some: { ...program(m("element-stdout"), m("element-stderr"), 1), each: "list" },
    fails: { ...program("", m("failed-stderr"), 3), retry: { max_attempts: 2, initial_interval: "5ms" } },
    asks: { kind: "human", prompt: m("question"), choices: [m("choice"), "no"], writes: { chosen: "output" } },
    form: { kind: "human", prompt: "A form", schema: { type: "object", properties: { note: { type: "string", description: m("field") }, pick: { enum: [m("field-enum")] } } } },
    stops: { kind: "fail", message: m("failure") },
  },
  edges: [
    { from: "says", to: "stops", when: `text == ${JSON.stringify(m("condition"))}` },
    { from: "says", to: "tells", label: m("label") },
    { from: "tells", to: "model" }, { from: "model", to: "some" },
    { from: "some", to: "fails" }, { from: "some", to: "fails", condition: "on_failure" },
    { from: "fails", to: "asks", condition: "on_failure" }, { from: "fails", to: "asks" },
    { from: "asks", to: "form" }, { from: "form", to: "stops" },
  ],
};
const script = { responses: [{ node: "model", tool_calls: [{ name: "peek", args: { what: m("tool-argument") } }] }, { node: "model", content: m("model-answer") }] };

// What is wrong stands in findings, with the name of a file that is markup too.
const brokenFile = "broken <img id=mark-file src=x onerror=hit()>.yaml";
all.add("file");
const broken = { graphrun: "v1", name: "broken", start: "a", nodes: { a: { kind: "pass", [m("finding")]: 1 } }, edges: [{ from: "a", to: "END" }] };

/** markup looks into every view, by open (a path to { page, context, where }) of a server
 * over folder, and calls wrong with what it finds. */
export async function markup({ folder, open, api, until, wrong, graphrun, launch }) {
  const seen = new Set();
  for (const [name, value] of [["marks.yaml", flow], ["marks-script.yaml", script], [brokenFile, broken]]) writeFileSync(join(folder, name), JSON.stringify(value, null, 1));
  const { page, context, where } = await open("/");
  const hits = [];
  await context.exposeFunction("hit", () => hits.push("a script ran"));
  await context.addInitScript(() => addEventListener("securitypolicyviolation", (e) => hit(`${e.violatedDirective}`)));

  // look notes which texts are shown, and that none has become an element.
  async function look(page, what) {
    await page.evaluate(() => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const { text, made } = await page.evaluate(() => ({
      text: [document.body.textContent, document.title, ...[...document.querySelectorAll("*")].flatMap((e) => [...[...e.attributes].map((a) => a.value), e.value ?? ""])].join("\n"),
      made: [...document.querySelectorAll("img, iframe, object, embed, [id^=mark-], [onerror], script:not([src]):not(#data)")].filter((e) => !(e.localName === "script" && location.protocol === "file:" && e.parentElement === document.body && !/hit\(\)/.test(e.textContent.slice(0, 60)))).map((e) => e.outerHTML.slice(0, 80)),
    }));
    for (const [, mark] of text.matchAll(seenIn)) seen.add(mark);
    if (made.length) wrong(`${what}: markup became ${made.join(" ")}`);
    for (const h of hits.splice(0)) wrong(`${what}: ${h}`);
  }
  const step = (page, key) => page.locator(".rows").press(key);
  // walk goes through what a page of a run has; brief, not through every step and event.
  async function walk(page, what, nodes, brief = false) {
    for (const tab of await page.locator("[role=tab]").all()) {
      const name = await tab.textContent();
      await tab.click();
      await look(page, `${what} ${name}`);
      if (name === "Node") for (const id of nodes) {
        await page.locator(`[data-path="${id}"]`).press("Enter");
        if (["says", "model", "some"].includes(id) && await page.locator(".below").count()) await page.locator(".said, .talk, details.tool").first().waitFor().catch(async () => { throw new Error(`${what}: the panel of ${id} shows ${await page.textContent(".pane")}`.replaceAll("\n", " ")); });
        await look(page, `${what} node ${id}`);
      }
      if (name === "Step") for (let i = Number(await page.getByRole("slider").getAttribute("max")), least = brief ? i : 0; i >= least; i--) {
        await page.getByRole("slider").fill(String(i));
        await look(page, `${what} step ${i}`);
      }
      if (name === "Events" && !brief) {
        const last = Number((await page.textContent(".filters .hint")).split(" ")[0]);
        for (let i = 0; i < last; i++) {
          await step(page, "ArrowDown");
          if (/output|event|state|failed|usage|tool|paused|finished/.test(await page.locator(".row[aria-selected=true] .type").textContent())) await look(page, `${what} event ${i}`);
        }
      }
    }
  }
  const go = async (path, ready) => { await page.goto(new URL(path, page.url()).href); await page.locator(ready).first().waitFor(); };
  const nodes = Object.keys(flow.nodes);

  await api("POST", "/runs", { flow: "marks.yaml", run_id: "marks", labels: { what: m("run-label") } });
  const asks = (node) => until(`the question of ${node}`, async () => (await api("GET", "/runs/marks")).pending.some((q) => q.node === node));
  await asks("asks");
  await go("/", "table.runs tr");
  await page.locator(".waits").waitFor();
  await page.locator(".flows li").first().waitFor();
  await look(page, "the runs");
  await go("/run/marks", ".ask");
  await look(page, "a run that asks");
  await api("POST", "/runs/marks/answers", { answers: [{ target: "asks", value: flow.nodes.asks.choices[0] }], by: m("by") });
  await asks("form");
  await go("/run/marks#tab=run", ".ask");
  await look(page, "a form");
  await api("POST", "/runs/marks/answers", { answers: [{ target: "form", value: { note: m("note") } }] });
  await until("the end", async () => (await api("GET", "/runs/marks")).status === "failed");
  await go("/run/marks", ".box .name");
  await walk(page, "a run that failed", nodes);

  await api("POST", "/runs/marks/fork", { at: 1, set: { text: m("forked") } });
  const fork = (await api("GET", "/runs")).runs.find((r) => r.parent === "marks");
  await go(`/compare/marks/${fork.run_id}`, "table.paths tr");
  await look(page, "a comparison");
  await go("/flow/marks.yaml", ".box .name");
  await walk(page, "a flow", nodes);
  await go("/flow/" + encodeURIComponent(brokenFile), ".box .name");
  await walk(page, "a broken flow", ["a"]);
  await context.close();

  // What was never there is named as it was asked for.
  const none = await open("/", { quiet: true });
  await none.context.exposeFunction("hit", () => hits.push("a script ran"));
  for (const path of ["/run/", "/flow/", "/compare/marks/", "/"]) {
    const mark = m("address").replaceAll("/", "");
    await none.page.goto(new URL(path + encodeURIComponent(mark), none.page.url()).href);
    await none.page.locator("p a").first().waitFor();
    await look(none.page, path);
  }
  await none.context.close();

  // The page in a file.
  for (const [name, args] of [["marks-run", ["marks.yaml", "--run", "marks"]], ["marks-flow", ["marks.yaml"]]]) {
    const file = join(folder, name + ".html");
    const done = spawnSync(graphrun, ["render", ...args, "-O", file, "--store", "runs.db"], { cwd: folder, argv0: "graphrun", encoding: "utf8" });
    if (done.status !== 0) { wrong(`render ${args}: ${done.stderr}`); continue; }
    const { page, context } = await launch();
    await context.exposeFunction("hit", () => hits.push("a script ran"));
    await page.goto("file://" + file);
    await page.locator(".box .name").first().waitFor();
    await walk(page, name, nodes, true); // made of the same parts as the served one
    await context.close();
  }
  const missing = [...all].filter((mark) => !seen.has(mark));
  if (missing.length) wrong(`no view has shown the text of ${missing.join(", ")}`);
}

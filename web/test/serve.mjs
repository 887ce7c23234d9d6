// Uses the served page with a browser, as a person would: node serve.mjs GRAPHRUN
// FOLDER, where the flows are that TestServedPageInBrowser writes. It prints what is
// wrong, a line each. With GRAPHRUN_SHOTS it leaves pictures of all views there.
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { launch } from "./browser.mjs";
import { violations } from "./looked.mjs";
import { markup } from "./markup.mjs";

const [program, folder] = process.argv.slice(2);
const shots = process.env.GRAPHRUN_SHOTS;
if (shots) mkdirSync(shots, { recursive: true });
const wrong = [];
const expect = (ok, what) => ok || wrong.push(what);
const token = "a-token-of-the-browser-tests";
writeFileSync(join(folder, "token"), token);

let server, base;
// serve starts the server, at the address that it had before.
async function serve() {
  server = spawn(program, ["serve", ".", "--listen", base ? base.slice(7) : "127.0.0.1:0", "--token-file", "token", "--store", "runs.db"], {
    cwd: folder, argv0: "graphrun", stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, GORACE: "atexit_sleep_ms=0" },
  });
  const line = await new Promise((done, fail) => {
    server.stdout.once("data", (text) => done(String(text).trim()));
    server.once("exit", (code) => fail(new Error(`serve ended with ${code}`)));
  });
  base = line.replace(/\/$/, "");
}
async function kill() {
  const gone = new Promise((done) => server.once("exit", done));
  server.kill("SIGKILL");
  await gone;
}
const api = async (method, path, body) => {
  const answer = await fetch(`${base}/api/v1${path}`, { method, headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" }, body: body && JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return answer.status === 204 ? null : answer.json();
};
const until = async (what, look) => {
  for (let i = 0; i < 600; i++) {
    const got = await look();
    if (got) return got;
    await new Promise((done) => setTimeout(done, 25));
  }
  throw new Error(`${what} did not come about`);
};

await serve();
const browser = await launch();
let away = false; // the server is meant to be gone: the browser says so on its console

// open shows a view, signed in, and notes what it may not do.
async function open(path, { width = 1280, height = 800, scheme = "light", quiet = false, zone = "UTC" } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, reducedMotion: "reduce", timezoneId: zone });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  const where = `${path} ${width} ${scheme}`;
  page.on("console", (m) => !away && !quiet && ["error", "warning"].includes(m.type()) && wrong.push(`${where}: console: ${m.text()}`));
  page.on("pageerror", (e) => wrong.push(`${where}: ${e.message}`));
  page.on("request", (r) => r.url().startsWith(base + "/") || r.url().startsWith("data:") || wrong.push(`${where}: asks for ${r.url()}`));
  await page.goto(`${base}/?token=${token}`);
  expect(!page.url().includes("token"), `${where}: the token stays in the address`);
  if (path !== "/") await page.goto(base + path);
  return { page, context, where };
}
const only = process.env.GRAPHRUN_ONLY;
const attempt = (what, look) => (only && what !== only ? Promise.resolve() : look()).catch((e) => wrong.push(`${what}: ${String(e.message).split("\n").slice(0, 3).join(" ")}`));

// A run is started from its form, watched, answered, looked at step by step, forked
// with another state, and compared.
await attempt("a whole run", async () => {
  const { page, context } = await open("/");
  await page.getByRole("link", { name: "Start order" }).click();
  await page.getByRole("button", { name: "Start" }).click();
  await page.getByText("thing is required").waitFor();
  await page.getByLabel("thing").focus();
  await page.keyboard.type("@a/b+0-[]"); // none of these is a key of the page then
  expect(await page.getByLabel("thing").inputValue() === "@a/b+0-[]", `what is typed becomes ${await page.getByLabel("thing").inputValue()}`);
  expect((await page.getByLabel("The command that does the same").textContent()).includes(`'thing:="@a/b+0-[]"'`), "on the command line the text would name a file");
  await page.getByLabel("thing").fill("a 'lamp' <b>");
  await page.getByLabel("count", { exact: false }).first().fill("x");
  await page.getByText("count is not a whole number").or(page.getByText("count is not a number")).waitFor();
  await page.getByLabel("count", { exact: false }).first().fill("3");
  await page.getByRole("textbox", { name: /^key/ }).fill("a-very-secret-key");
  const command = await page.getByLabel("The command that does the same").textContent();
  expect(command.includes(`-i 'thing=a '\\''lamp'\\'' <b>'`) && command.includes("count:=3") && !command.includes("a-very-secret"), `the command is ${command}`);
  await page.getByRole("button", { name: "Start" }).click();
  await page.waitForURL(/\/run\//);
  const id = decodeURIComponent(new URL(page.url()).pathname.split("/").at(-1));
  await page.locator(".ask .prompt").waitFor();
  expect((await page.textContent(".ask .prompt")).includes("a 'lamp' <b>"), "the question is not shown as it is");
  expect(/waits|waiting/.test(await page.getAttribute('[data-path="approve"]', "aria-label")), `the asking node says ${await page.getAttribute('[data-path="approve"]', "aria-label")}`);
  await page.locator(".ask").getByRole("button", { name: "yes" }).click();
  await page.locator("header .pill.completed").waitFor();
  const run = await api("GET", `/runs/${id}`);
  expect(run.status === "completed" && run.state.verdict === "yes" && run.state.total === 3, `the run came to ${JSON.stringify(run.state)}`);
  expect(!(await page.content()).includes("a-very-secret-key"), "the page tells a secret");
  const shown = async () => Number((await page.textContent(".where b")));
  await until(`step ${run.path.length}, the last, at the slider`, async () => await shown() === run.path.length);
  await page.getByRole("slider", { name: "Step" }).fill("2");
  await page.locator(".why li").first().waitFor();
  await page.locator(".why .test").first().waitFor(); // the values are asked for
  await page.locator("#tab-fork").click();
  await page.getByLabel("count", { exact: false }).first().fill("5");
  await page.getByRole("button", { name: "Fork" }).click();
  await page.waitForURL((u) => u.pathname.startsWith("/run/") && !u.pathname.includes(id));
  await page.locator(".ask").getByRole("button", { name: "no" }).click();
  await page.locator("header .pill.completed").waitFor();
  await page.getByRole("link", { name: "compare" }).click();
  await page.locator("table.paths tr").nth(2).waitFor();
  const diff = await page.textContent(".diff");
  expect(/count/.test(diff) && /verdict/.test(diff), `the comparison says ${diff}`);
  expect(await page.locator("tr.apart").count() > 0, "no step is apart");
  await page.goBack();
  await page.locator("header .pill.completed").waitFor();
  await page.getByRole("button", { name: "Run again" }).click();
  await page.waitForURL(/\/flow\//);
  expect(await page.getByLabel("thing").inputValue() === "a 'lamp' <b>", "the form does not begin with what was given before");
  await context.close();
});

// A run is seen as it goes, and over the death of the server: nothing is lost, nothing
// comes twice.
await attempt("a server that dies", async () => {
  const { run_id: id } = await api("POST", "/runs", { flow: "gated.yaml", run_id: "slow" });
  const { page, context } = await open(`/run/${id}#tab=events`);
  await page.locator(".row").first().waitFor();
  await until("the fifth step", async () => Number(await page.textContent(".where .hint").then((t) => t.slice(1))) >= 5);
  away = true;
  await kill();
  await page.locator(".banner").waitFor();
  if (shots) await page.screenshot({ path: join(shots, "gone.png") });
  await serve();
  await page.locator(".banner").waitFor({ state: "detached" });
  away = false;
  writeFileSync(join(folder, "opened"), "");
  await until("the end", async () => (await api("GET", `/runs/${id}`)).status === "completed");
  await page.locator("header .pill.completed").waitFor();
  const told = (await fetch(`${base}/api/v1/runs/${id}/page`, { headers: { Authorization: `Bearer ${token}` } }).then((r) => r.json())).run.events;
  const text = await page.textContent(".filters .hint");
  expect(text === `${told.length} of ${told.length}`, `the page has ${text} events, the journal ${told.length}`);
  expect((await page.textContent(".where .hint")) === "/30", `the slider ends at ${await page.textContent(".where .hint")}`);
  await page.reload();
  await page.locator(".row").first().waitFor();
  expect((await page.textContent(".filters .hint")) === text, "a reload shows other events");
  await context.close();
});

// A run is paused, gone on with, and cancelled.
await attempt("controls", async () => {
  const { run_id: id } = await api("POST", "/runs", { flow: "slow.yaml", input: { most: 500 } });
  const { page, context } = await open(`/run/${id}`);
  await page.getByRole("button", { name: "Pause" }).click();
  await page.locator("header .pill.paused").waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.locator("header .pill.running").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Cancel it for good?" }).click();
  await page.locator("header .pill.cancelled").waitFor();
  await context.close();
});

// Any two runs are compared from the list.
await attempt("two runs of the list", async () => {
  const { page, context } = await open("/run/slow");
  await page.getByRole("link", { name: "compare" }).click();
  await page.getByText("Choose another run to compare slow with").waitFor();
  await page.getByLabel("Graph").selectOption("");
  const other = page.locator("table.runs input:not(:checked)").first();
  const name = (await other.getAttribute("aria-label")).replace("Compare ", "");
  await other.check();
  await page.waitForURL(/compare=slow%2C/);
  await page.reload(); // the choice stands in the address
  await page.getByRole("link", { name: `Compare slow with ${name}` }).click();
  await page.waitForURL(`**/compare/slow/${name}`);
  await page.locator("table.paths tr").nth(1).waitFor();
  await context.close();
});

// What a model was asked and answered stands at its node, tools included, once live and
// once read anew; so does what it cost, and what came of each element of a list.
await attempt("a conversation", async () => {
  await api("POST", "/runs", { flow: "asks.yaml", run_id: "talks" });
  const { page, context } = await open("/run/talks#tab=node&node=clerk");
  const turns = async (n) => until(`${n} turns`, async () => await page.locator(".talk .turn").count() >= n);
  await page.locator("header .pill.degraded").waitFor();
  for (const round of ["live", "read anew"]) {
    await turns(4);
    const text = await page.textContent(".talk");
    expect(/What is the price/.test(text) && /calls price/.test(text) && /result of price/.test(text) && /It is 25/.test(text), `${round}, the conversation is ${text}`);
    expect(await page.locator("table.even tbody tr").count() === 3, `${round}: ${await page.textContent("table.even")}`); // two calls and their sum
    await page.getByLabel("one width per step").setChecked(false);
    expect(await page.locator(".bar .call.model").count() === 2, `${round}: the timeline shows ${await page.locator(".bar .call").count()} calls`);
    await page.reload();
  }
  await page.locator('[data-path="work"]').click();
  await page.locator("details.tool summary", { hasText: "3" }).first().waitFor();
  await page.getByText("only the 1 element that failed").click();
  expect(await page.locator("section > details.tool").count() === 1, "not only what failed is shown");
  await page.locator("section > details.tool summary").click();
  await page.locator("details.tool .said").waitFor();
  expect((await page.textContent("details.tool .said")).includes("no <b>two</b>"), `the element said ${await page.textContent("details.tool")}`);
  await page.locator('[data-path="after"]').click();
  await page.getByRole("heading", { name: "Input from work" }).waitFor();
  await page.getByRole("button", { name: "Input from work as raw JSON" }).click();
  expect(/^\[\s+1,\s+null,\s+3\s+\]/.test(await page.locator(".shown pre").first().textContent()), `as JSON it is ${await page.locator(".shown pre").first().textContent()}`);
  await context.close();
});

// What waits for a person has a place on the timeline, by steps too.
await attempt("a question on the timeline", async () => {
  await api("POST", "/runs", { flow: "form.yaml", run_id: "waits" });
  const { page, context } = await open("/run/waits#tab=run");
  await page.locator(".bar.waiting").waitFor();
  await context.close();
});

// A program that goes on is heard while it does, in its node and among all logs, and each
// branch has a row on the timeline.
await attempt("output while it comes", async () => {
  writeFileSync(join(folder, "chatter.yaml"), `graphrun: v1
name: chatter
start: split
nodes:
  split: {kind: pass}
  talk: {kind: exec, script: 'echo first; echo warned >&2; until [ -f go ]; do sleep 0.05; done; echo last', timeout: 1m}
  quick: {kind: exec, script: 'echo done', timeout: 1m}
edges:
  - {from: split, to: [talk, quick]}
  - {from: [talk, quick], to: END}
`);
  await api("POST", "/runs", { flow: "chatter.yaml", run_id: "chatter" });
  const { page, context } = await open("/run/chatter#tab=node&node=talk");
  await page.locator(".said", { hasText: "first" }).waitFor();
  await page.locator("#tab-logs").click();
  await page.locator(".said.whole .stderr", { hasText: "warned" }).waitFor();
  await page.locator(".said.whole", { hasText: "quick" }).waitFor();
  await page.getByLabel("stderr").setChecked(false);
  expect(await page.locator(".said.whole .stderr").count() === 0, "hidden lines are shown");
  await page.getByLabel("Search the output").fill("don");
  expect((await page.textContent(".said.whole")).trim() === "quick\ndone", `found is ${await page.textContent(".said.whole")}`);
  await page.getByLabel("Search the output").fill("");
  expect((await page.locator(".row text").allTextContents()).join() === "main,talk,quick", `the rows are ${await page.locator(".row text").allTextContents()}`);
  writeFileSync(join(folder, "go"), "");
  await page.locator(".said.whole", { hasText: "last" }).waitFor();
  await context.close();
});

// Flows and runs are found by their text, runs by a label too.
await attempt("search", async () => {
  await api("POST", "/runs", { flow: "chatter.yaml", run_id: "labelled", labels: { team: "blue sky" } });
  const { page, context } = await open("/");
  await page.getByRole("link", { name: "labelled" }).waitFor();
  const search = page.getByLabel("Search flows and runs");
  await search.fill("chatter");
  await page.locator("table.runs tbody tr").nth(1).waitFor();
  expect(await page.locator(".flows li").count() === 1, `the flows are ${await page.textContent(".flows")}`);
  await search.fill("team=blue sky");
  await until("one run is left", async () => await page.locator("table.runs tbody tr").count() === 1);
  expect((await page.textContent("table.runs tbody")).includes("labelled"), "another run is found");
  await search.fill("nowhere");
  await page.getByText("No run is like that").waitFor();
  await page.waitForURL((u) => u.searchParams.get("q") === "nowhere");
  await page.reload();
  await until("the search of the address", async () => await search.inputValue() === "nowhere");
  await context.close();
});

// The flow follows its file, with findings at their lines; a broken one can't be run.
await attempt("a flow that changes", async () => {
  const { page, context } = await open("/flow/order.yaml#tab=source");
  await page.locator(".box .name").first().waitFor();
  const file = join(folder, "order.yaml"), text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace("to: approve}", "to: aprove}"));
  await page.locator(".line.error .found.error").waitFor();
  expect((await page.textContent(".found.error")).includes("aprove"), "the finding does not say what is wrong");
  // From a finding to its line and its node, and from the node's mark and its list back.
  await page.locator("#tab-flow").click();
  await page.locator(".findings .found.error").click();
  await page.locator(".line.on .found.error").waitFor();
  const line = await page.locator(".line.on").getAttribute("data-line");
  await page.locator(".line.on .found.error").press("Enter");
  await page.waitForFunction(() => !location.hash.includes("line="));
  await page.locator("#tab-flow").click();
  await page.goto(page.url().replace(/#.*/, `#tab=source&line=${line}`));
  await page.locator(`.line.on[data-line="${line}"]`).waitFor();
  await page.locator("#tab-start").click();
  await page.getByText("it can't be run until they are mended").waitFor();
  writeFileSync(file, text);
  await page.getByRole("button", { name: "Start" }).waitFor();
  await context.close();
});

// Answers of every form: an object by its fields.
await attempt("a form of an answer", async () => {
  const { run_id: id } = await api("POST", "/runs", { flow: "form.yaml" });
  const { page, context } = await open(`/run/${id}#tab=run`);
  await page.getByLabel("score").fill("7");
  await page.getByLabel("note").fill("fine");
  await page.getByRole("button", { name: "Answer" }).click();
  await page.locator("header .pill.completed").waitFor();
  const run = await api("GET", `/runs/${id}`);
  expect(JSON.stringify(run.output) === '{"note":"fine","score":7}', `the answer is ${JSON.stringify(run.output)}`);
  await context.close();
});

// Times are the reader's, the whole of them on hover.
await attempt("times", async () => {
  const { page, context } = await open("/", { zone: "Asia/Kolkata" });
  const started = page.locator("table.runs tbody td:nth-child(5)").first();
  const [title, run] = [await started.getAttribute("title"), (await api("GET", "/runs")).runs[0]];
  const here = new Date(Date.parse(run.started_at) + 5.5 * 3600e3).toISOString().slice(0, -1).replace("T", " ");
  expect(title.startsWith(here) && title.includes("5:30"), `on hover it started at ${title}, not ${here}`);
  await context.close();
});

// What was never there says what to do.
await attempt("nothing there", async () => {
  away = true; // the browser reports that the server knows no such run
  const { page, context } = await open("/run/nobody");
  await page.getByText("no run").waitFor();
  await page.goto(base + "/nowhere");
  await page.getByRole("link", { name: "all runs and flows" }).waitFor();
  await page.goBack();
  await page.getByRole("link", { name: "All runs and flows" }).click();
  await page.locator("table.runs tr").nth(1).waitFor();
  await context.close();
  away = false;
});

// Whatever a run says is text.
await attempt("markup", () => markup({
  folder, open, api, until, graphrun: program, wrong: (what) => wrong.push(what),
  launch: async () => {
    const context = await browser.newContext({ reducedMotion: "reduce" });
    context.setDefaultTimeout(15_000);
    const page = await context.newPage();
    page.on("console", (m) => ["error", "warning"].includes(m.type()) && wrong.push(`a page in a file: console: ${m.text()}`));
    return { context, page };
  },
}));

// Every view, in both lights and at both widths.
const { runs } = await api("GET", "/runs");
const fork = runs.find((r) => r.parent);
const views = ["/", "/flow/order.yaml#tab=start", "/flow/order.yaml", `/run/${fork?.run_id}#tab=run`, `/run/${fork?.run_id}#tab=fork&step=2`, `/compare/${fork?.parent}/${fork?.run_id}`, "/run/asks#tab=run", "/run/talks#tab=node&node=clerk", "/run/talks#tab=node&node=work"];
await api("POST", "/runs", { flow: "form.yaml", run_id: "asks" });
await attempt("open questions come first on a phone", async () => {
  for (const [path, first, second] of [["/run/asks", ".ask", ".stage"], ["/", ".waits", ".flows"]]) {
    const { page, context } = await open(path, { width: 360, height: 740 });
    await page.locator(first).first().waitFor();
    await page.locator(second).waitFor();
    const [above, below] = [await page.locator(first).first().boundingBox(), await page.locator(second).boundingBox()];
    expect(above.y + above.height <= below.y && above.y < 740, `${path}: the question is at ${above.y}, ${second} at ${below.y}`);
    await context.close();
  }
});
for (const [i, path] of views.entries()) {
  for (const width of [1280, 360]) {
    for (const scheme of ["light", "dark"]) {
      if (!shots && (i + 2 * (width === 360) + (scheme === "dark")) % 4) continue;
      await attempt(path, async () => {
        const { page, context, where } = await open(path, { width, scheme });
        await page.locator(path === "/" ? "table.runs tbody tr" : path.startsWith("/compare") ? "table.paths tr" : ".box .name").first().waitFor();
        if (path === "/") await page.locator(".flows li").first().waitFor();
        const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        expect(over <= 0, `${where}: wider than the window by ${over}`);
        for (const v of await violations(page)) wrong.push(`${where}: axe: ${v}`);
        if (shots) await page.screenshot({ path: join(shots, `served-${path.replace(/\W+/g, "-").slice(0, 60)}-${width}-${scheme}.png`), fullPage: width < 900 });
        await context.close();
      });
    }
  }
}
await browser.close();
server.kill("SIGKILL");
for (const line of wrong) console.log(line);
process.exit(wrong.length ? 1 : 0);

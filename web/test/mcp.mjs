// Talks to graphrun by the official MCP client: node mcp.mjs GRAPHRUN FOLDER, where the
// flows are that TestMCPClient writes. It prints what is wrong, a line each.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema, ProgressNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const [program, folder] = process.argv.slice(2);
const wrong = [];
const expect = (ok, what) => ok || wrong.push(what);
const token = "a-token-of-the-client-tests";
const env = { ...process.env, GORACE: "atexit_sleep_ms=0" };
writeFileSync(join(folder, "token"), token);

const server = spawn(program, ["serve", ".", "--listen", "127.0.0.1:0", "--token-file", "token", "--store", "http.db"], { cwd: folder, argv0: "graphrun", stdio: ["ignore", "pipe", "inherit"], env });
const base = await new Promise((done, fail) => {
  server.stdout.once("data", (text) => done(String(text).trim().replace(/\/$/, "")));
  server.once("exit", (code) => fail(new Error(`serve ended with ${code}`)));
});
// A program is told by its name that it is graphrun: a script of that name does it.
const script = join(folder, "graphrun.sh");
writeFileSync(script, `#!/bin/bash\nexec -a graphrun '${program}' "$@"\n`, { mode: 0o700 });

const transports = {
  http: () => new StreamableHTTPClientTransport(new URL(base + "/mcp"), { requestInit: { headers: { Authorization: `Bearer ${token}` } } }),
  stdio: () => new StdioClientTransport({ command: script, args: ["mcp", ".", "--store", "stdio.db"], cwd: folder, env, stderr: "inherit" }),
};

// connect connects a client; answers, by question, are what the person there says.
async function connect(over, answers) {
  const client = new Client({ name: "tester", version: "1" }, { capabilities: answers ? { elicitation: {} } : {} });
  if (answers) client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({ action: "accept", content: answers[params.message] }));
  await client.connect(transports[over]());
  return client;
}

for (const over of ["http", "stdio"]) {
  const attempt = (what, look) => look().catch((e) => wrong.push(`${over}: ${what}: ${e.message}`));

  // Each flow is a tool; a call tells of each step, and gives what the flow gives.
  await attempt("a call", async () => {
    const client = await connect(over);
    const { tools } = await client.listTools();
    const order = tools.find((t) => t.name === "order");
    expect(order?.inputSchema.required?.join() === "thing" && order.inputSchema.properties.count.minimum === 1, `${over}: the tools are ${JSON.stringify(tools)}`);
    const told = [];
    // onprogress asks for progress; what comes together with the result it is not told of.
    client.setNotificationHandler(ProgressNotificationSchema, ({ params }) => void told.push(params.progress));
    const got = await client.callTool({ name: "count", arguments: { most: 3 } }, undefined, { onprogress: () => {} });
    expect(!got.isError && got.structuredContent?.status === "completed" && got.structuredContent.state.n === 3, `${over}: count gives ${JSON.stringify(got)}`);
    expect(told.length > 0 && told.every((n, i) => i === 0 || n > told[i - 1]), `${over}: the progress is ${told}`);
    const bad = await client.callTool({ name: "order", arguments: { thing: 3 } });
    expect(bad.isError && JSON.stringify(bad.content).includes("thing"), `${over}: a wrong input gives ${JSON.stringify(bad)}`);
    await client.close();
  });

  // A client with a person is asked.
  await attempt("elicitation", async () => {
    const client = await connect(over, { "Send a lamp, 2 times?": { answer: "yes" } });
    const got = await client.callTool({ name: "order", arguments: { thing: "a lamp", count: 2 } });
    expect(got.structuredContent?.state?.verdict === "yes", `${over}: the answered run gives ${JSON.stringify(got)}`);
    await client.close();
  });

  // One without gets the run's name, and answers by a tool.
  await attempt("the answering tool", async () => {
    const client = await connect(over);
    const asks = await client.callTool({ name: "order", arguments: { thing: "a lamp" } });
    const id = asks.structuredContent?.run_id;
    expect(id && asks.structuredContent.status === "paused" && JSON.stringify(asks.content).includes(id), `${over}: a run that asks gives ${JSON.stringify(asks)}`);
    const got = await client.callTool({ name: "graphrun_answer", arguments: { run_id: id, value: "no" } });
    expect(got.structuredContent?.status === "completed" && got.structuredContent.state.verdict === "no", `${over}: the answer gives ${JSON.stringify(got)}`);
    await client.close();
  });
}

// Nobody gets in without the token.
const outside = new Client({ name: "tester", version: "1" });
await outside.connect(new StreamableHTTPClientTransport(new URL(base + "/mcp"))).then(
  () => wrong.push("a client without the token gets in"),
  (e) => expect(/401|token/i.test(e.message), `without the token: ${e.message}`),
);
server.kill("SIGKILL");
for (const line of wrong) console.log(line);
process.exit(wrong.length ? 1 : 0);

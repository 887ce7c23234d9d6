// Talks to graphrun by AG-UI's own client: node agui.mjs URL TOKEN. It prints what is
// wrong, a line each.
import { HttpAgent } from "@ag-ui/client";

const [url, token] = process.argv.slice(2);
const wrong = [];
const expect = (ok, what) => ok || wrong.push(what);
const agentFor = (flow, more = {}) => new HttpAgent({ url: `${url}/agui/${flow}`, headers: { Authorization: `Bearer ${token}` }, ...more });

// run runs an agent and notes its events.
async function run(agent, input = {}) {
  const events = [];
  let failed = null;
  const done = await agent.runAgent(input, {
    onEvent: ({ event }) => { events.push(event); },
    onRunFailed: ({ error }) => { failed = error; return { stopPropagation: true }; },
  }).catch((e) => { failed = e; });
  return { events, types: events.map((e) => e.type), failed, done };
}

// A run from its input to its end: the state follows, and the output is a message.
{
  const agent = agentFor("deep/plain.yaml", { initialState: { n: 21 } });
  const { events, types, failed } = await run(agent);
  expect(!failed, `plain: ${failed}`);
  expect(types[0] === "RUN_STARTED" && types.at(-1) === "RUN_FINISHED", `plain: ${types}`);
  for (const want of ["STATE_SNAPSHOT", "STEP_STARTED", "STEP_FINISHED", "STATE_DELTA"]) expect(types.includes(want), `plain: no ${want} in ${types}`);
  expect(agent.state.n === 42, `plain: the state is ${JSON.stringify(agent.state)}`);
  expect(events.at(-1).outcome.type === "success", `plain: ${JSON.stringify(events.at(-1))}`);
}

// What the user writes goes to the flow; what comes out is said.
{
  const agent = agentFor("says.yaml");
  agent.addMessage({ id: "1", role: "user", content: "hello <b>" });
  const { failed } = await run(agent);
  expect(!failed, `says: ${failed}`);
  const last = agent.messages.at(-1);
  expect(last.role === "assistant" && last.content === "you said hello <b>", `says: ${JSON.stringify(last)}`);
}

// A question is an interrupt, and its answer goes on with the run.
{
  const agent = agentFor("asking.yaml");
  const first = await run(agent);
  expect(!first.failed, `asking: ${first.failed}`);
  const outcome = first.events.at(-1).outcome;
  expect(outcome?.type === "interrupt" && outcome.interrupts.length === 1 && outcome.interrupts[0].message === "Go on?", `asking: ${JSON.stringify(first.events.at(-1))}`);
  const second = await run(agent, { resume: [{ interruptId: outcome.interrupts[0].id, status: "resolved", payload: "yes" }] });
  expect(!second.failed && second.events.at(-1).outcome?.type === "success", `asking: ${second.failed} ${second.types}`);
  expect(agent.state.who === "yes" && agent.state.n === 3, `asking: the state is ${JSON.stringify(agent.state)}`);
}

// A run that fails is an error; a flow that is not there is one, too.
{
  const failing = await run(agentFor("fails.yaml"));
  expect(failing.types.includes("RUN_ERROR"), `fails: ${failing.types} ${failing.failed}`);
  const missing = await run(agentFor("nowhere.yaml"));
  expect(missing.failed, `nowhere: ${missing.types}`);
}
for (const line of wrong) console.log(line);
process.exit(wrong.length ? 1 : 0);

// What stands beside the graph: a step, a node, the state, and what is known of a
// flow before it runs.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Conversation, Output } from "./conversation";
import type { Data, Decision, Finding, Flow, Part, Range, RunEvent } from "./data";
import { Elements } from "./elements";
import { Icon } from "./icons";
import { shell } from "./api";
import { Found } from "./source";
import { clock, count, duration, exact, line } from "./text";
import { type Execution, type Moment, type Trace } from "./trace";
import { Shown, Value } from "./value";

/** StepPanel is what a step did, and why it went on as it did. */
export function StepPanel({ trace, moment, data, onSelect }: { trace: Trace; moment: Moment; data: Data; onSelect: (path: string) => void }) {
  const x = trace.steps[moment.step - 1];
  const decision = trace.decisions.get(moment.step);
  if (!x) {
    return (
      <div class="pane">
        <h2>Before the first step</h2>
        <p class="hint">{moment.step === 0 ? "The state that the run began with." : "This step has not ended."}</p>
        <Shown title="State" value={moment.state} />
      </div>
    );
  }
  return (
    <div class="pane">
      <h2><span class="number">{moment.step}</span><span class={"glyph kind-" + x.kind} title={x.kind}><Icon name={x.kind} size={14} /></span><button class="name" onClick={() => onSelect(x.node)}>{x.node}</button>{x.visit > 1 && <span class="hint">visit {x.visit}</span>}</h2>
      <Facts x={x} trace={trace} />
      {x.error && <ErrorBox kind={x.error.kind} message={x.error.message} details={x.error.details} />}
      <Changes moment={moment} />
      {decision ? <Why decision={decision} data={data} /> : moment.step === trace.steps.length && <p class="hint">Nothing was decided after it: {trace.run.result.reason.replaceAll("_", " ")}.</p>}
      {x.output !== undefined && x.output !== null && <Shown title="Output" value={x.output} />}
    </div>
  );
}

function Facts({ x, trace }: { x: Execution; trace: Trace }) {
  const facts = [x.outcome === "failure" ? "failed" : x.outcome === "success" ? (x.cached ? "from the cache" : x.skipped ? "skipped" : "succeeded") : x.outcome];
  if (x.end !== null) facts.push(duration(x.end - x.start));
  if (x.attempts.length > 1) facts.push(count(x.attempts.length, "attempt"));
  if (x.elements) facts.push(`${x.elements.done} of ${x.elements.total} elements` + (x.elements.failed ? `, ${x.elements.failed} failed` : ""));
  return <p class="facts" title={exact(new Date(trace.start + x.start).toISOString())}>{facts.join(" · ")}<span class="hint"> · at +{duration(x.start)}</span></p>;
}

function ErrorBox({ kind, message, details }: { kind: string; message: string; details: Record<string, unknown> | null }) {
  return (
    <div class="failure" role="note">
      <strong>{kind}</strong> {message}
      {details && Object.keys(details).length > 0 && <Value value={details} />}
    </div>
  );
}

/** Changes is what a step changed in the state. */
function Changes({ moment }: { moment: Moment }) {
  const keys = [...new Set([...Object.keys(moment.before), ...Object.keys(moment.state)])].filter((k) => moment.before[k] !== moment.state[k] && JSON.stringify(moment.before[k]) !== JSON.stringify(moment.state[k]));
  return (
    <section>
      <h3>Changed in the state</h3>
      {keys.length === 0 ? <p class="hint">Nothing.</p> : (
        <dl class="diff">
          {keys.map((k) => (
            <div key={k}>
              <dt>{k}</dt>
              {k in moment.before && <dd class="old"><span class="sign" aria-label="before">−</span><Value value={moment.before[k]} name={undefined} /></dd>}
              <dd class="new"><span class="sign" aria-label="after">+</span><Added before={moment.before[k]} after={moment.state[k]} /></dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}

// Added shows of a list that grew only what is new.
function Added({ before, after }: { before: unknown; after: unknown }) {
  if (Array.isArray(before) && Array.isArray(after) && before.length > 0 && after.length > before.length && JSON.stringify(after.slice(0, before.length)) === JSON.stringify(before)) {
    return <div><span class="hint">{count(after.length - before.length, "element")} more</span><Value value={after.slice(before.length)} /></div>;
  }
  return <Value value={after} />;
}

/** Why lists every edge that could have been taken. */
export function Why({ decision, data }: { decision: Decision; data: Data }) {
  const edges = data.drawing.edges;
  return (
    <section class="why">
      <h3>Why it went to {decision.next.join(", ") || "nowhere"}</h3>
      <ul>
        {decision.candidates.map((c, i) => {
          const label = decision.node.includes("/") ? null : edges.find((e) => e.index === c.edge)?.label;
          return (
            <li key={i} class={c.fired ? "fired" : ""}>
              <div class="to"><Icon name={c.fired ? "done" : "close"} size={13} /><strong>{c.to}</strong> <span class="hint">{c.condition.replaceAll("_", " ")}{label ? ` · ${label}` : ""}</span></div>
              {c.test ? <Test part={c.test} /> : <div class="reason">{c.why}</div>}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function Test({ part }: { part: Part }) {
  const result = part.evaluated ? String(part.result) : "not needed";
  return (
    <div class="test">
      <div class={"part " + result}>
        <code>{part.source}</code>
        {part.values && part.evaluated && !part.parts?.length && part.values !== part.source && <code class="values">{part.values}</code>}
        <span class="result">{result}</span>
      </div>
      {part.parts?.map((p, i) => <Test key={i} part={p} />)}
    </div>
  );
}

/** NodePanel is all that is known of a node. */
export function NodePanel({ path, data, trace, step, onStep, found, onFinding }: { path: string | null; data: Data; trace: Trace | null; step: number; onStep: (n: number) => void; found: Finding[]; onFinding: (f: Finding) => void }) {
  const [wanted, setWanted] = useState<{ path: string; index: number } | null>(null);
  if (!path) return <div class="pane"><p class="empty">Choose a node in the graph to see how it is defined{trace ? " and what it did" : ""}.</p></div>;
  let drawing = data.drawing;
  const ids = path.split("/");
  for (const id of ids.slice(0, -1)) drawing = drawing.subgraphs[id] ?? drawing;
  const node = drawing.nodes.find((n) => n.id === ids.at(-1));
  if (!node) return <div class="pane"><p class="empty">There is no node {path} in this graph.</p></div>;
  const known = data.flow.nodes[path];
  const all = trace?.of(path) ?? [];
  const index = wanted?.path === path ? wanted.index : all.findLastIndex((x) => x.step === step || x.step === 0 || x.step < step);
  const x = all[Math.max(0, index)];
  const out = drawing.edges.filter((e) => e.from === node.id), into = drawing.edges.filter((e) => e.to === node.id);
  return (
    <div class="pane">
      <h2><span class={"glyph kind-" + node.kind}><Icon name={node.kind} size={14} /></span>{path}</h2>
      <p class="facts">{[node.kind, ...(known?.notes ?? []), known?.finally ? "runs in finally" : ""].filter(Boolean).join(" · ")}</p>
      {node.description && <p>{node.description}</p>}
      <Findings found={found} onFinding={onFinding} />
      {all.length > 1 && (
        <label class="visits">Execution{" "}
          <select value={String(Math.max(0, index))} onChange={(e) => {
            const i = Number(e.currentTarget.value);
            setWanted({ path, index: i });
            if (all[i].step) onStep(all[i].step);
          }}>
            {all.map((x, i) => <option key={i} value={String(i)}>{x.node !== path ? x.node + " " : ""}#{x.visit}{x.step ? ` · step ${x.step}` : ""} · {x.outcome}</option>)}
          </select>
        </label>
      )}
      {trace && !x && <p class="hint">Not reached.</p>}
      {x && trace && <ExecutionView x={x} trace={trace} data={data} />}
      <section>
        <h3>Definition</h3>
        <pre class="definition">{dedent(known?.text ?? "")}</pre>
      </section>
      <section>
        <h3>Edges</h3>
        <ul class="ways">
          {into.map((e, i) => <li key={"i" + i}><span class="hint">from</span> {e.from} <span class="hint">{e.when ?? e.condition.replaceAll("_", " ")}</span></li>)}
          {out.map((e, i) => <li key={"o" + i}><span class="hint">to</span> {e.to} <span class="hint">{e.when ?? e.label ?? e.condition.replaceAll("_", " ")}</span>{e.fired ? <span class="hint"> ×{e.fired}</span> : null}</li>)}
        </ul>
      </section>
    </div>
  );
}

function ExecutionView({ x, trace, data }: { x: Execution; trace: Trace; data: Data }) {
  const conversation = (trace.run.conversation ?? []).filter((s) => s.place === x.node && s.visit === x.visit);
  // What was streamed stands in the conversation, once that is known.
  const said = trace.run.said.filter((s) => s.place === x.node && s.visit === x.visit && !(conversation.length && s.stream === "text"));
  const decision = trace.run.decisions.find((d) => (d.place ?? d.node) === x.node && d.visit === x.visit);
  const calls = x.events.filter((e) => e.event === "llm_usage"), told = x.events.filter((e) => e.event === "node_event");
  const tools = conversation.length ? [] : x.events.filter((e) => e.event === "tool_called");
  return (
    <>
      <Facts x={x} trace={trace} />
      {x.error && <ErrorBox kind={x.error.kind} message={x.error.message} details={x.error.details} />}
      {x.attempts.length > 1 && (
        <section>
          <h3>Attempts</h3>
          <ol class="attempts">
            {x.attempts.map((a) => (
              <li key={a.number}>{duration((a.end ?? a.start) - a.start)} {a.error ? <span class="bad">{a.error.kind}: {line(a.error.message, 90)}</span> : x.outcome === "success" ? "succeeded" : ""}{a.delay > 0 && <span class="hint"> · then {duration(a.delay)} of delay</span>}</li>
            ))}
          </ol>
        </section>
      )}
      <Input x={x} trace={trace} />
      {x.elements && <Elements x={x} run={trace.run} />}
      {x.output !== undefined && x.output !== null && <Shown title="Output" value={x.output} />}
      {conversation.length > 0 && <Conversation list={conversation} />}
      {calls.length > 0 && <Calls calls={calls} />}
      {tools.length > 0 && (
        <section>
          <h3>Tool calls</h3>
          {tools.map((e, i) => <details key={i} class="tool"><summary>{String(e.tool)} <span class="hint">{line(e.args, 60)}</span>{e.is_error ? <span class="bad"> failed</span> : null}</summary><Value value={brief(e)} /></details>)}
        </section>
      )}
      {told.length > 0 && <section><h3>Told</h3><ul class="calls">{told.map((e, i) => <li key={i}><strong>{e.type}</strong> {e.message ?? ""} {e.data ? <Value value={e.data} /> : null}</li>)}</ul></section>}
      {said.length > 0 && <Output said={said} live={x.end === null} />}
      {decision && x.step === 0 && <Why decision={decision} data={data} />}
    </>
  );
}

// Input is what an execution was given: what the nodes gave whose edges led to it, or for
// the first one what the run began with.
function Input({ x, trace }: { x: Execution; trace: Trace }) {
  const from = trace.inputs(x);
  if (from.length === 0) {
    const input = x.step === 1 ? trace.run.events.find((e) => e.event === "run_started")?.input : null;
    return input && Object.keys(input).length > 0 ? <Shown title="Input of the run" value={input} /> : null;
  }
  return <>{from.map((f) => <Shown key={f.index} title={`Input from ${f.node}${f.visit > 1 ? " #" + f.visit : ""}`} value={f.error ? { error: f.error } : f.output} />)}</>;
}

// Calls are what the calls of models came to, and all of them together.
function Calls({ calls }: { calls: RunEvent[] }) {
  const number = (e: RunEvent, key: string) => Number(e[key] ?? 0);
  const sum = (key: string) => calls.reduce((n, e) => n + number(e, key), 0);
  const cost = (usd: unknown) => (usd === null || usd === undefined ? "unknown" : "$" + Number(usd).toFixed(4));
  return (
    <section>
      <h3>Model calls</h3>
      <div class="scroll" tabIndex={0} role="group" aria-label="Model calls">
        <table class="even">
          <thead><tr><th>model</th><th>role</th><th class="right">in</th><th class="right">out</th><th class="right">cost</th><th class="right">took</th></tr></thead>
          <tbody>
            {calls.map((e, i) => <tr key={i}><td>{String(e.model ?? "")}</td><td>{String(e.role ?? "")}</td><td class="right">{number(e, "input_tokens").toLocaleString("en")}</td><td class="right">{number(e, "output_tokens").toLocaleString("en")}</td><td class="right">{cost(e.cost_usd)}</td><td class="right">{e.duration_ms === undefined ? "" : duration(e.duration_ms)}</td></tr>)}
            {calls.length > 1 && <tr class="sum"><td>all {calls.length}</td><td /><td class="right">{sum("input_tokens").toLocaleString("en")}</td><td class="right">{sum("output_tokens").toLocaleString("en")}</td><td class="right">{calls.every((e) => e.cost_usd === null || e.cost_usd === undefined) ? "unknown" : cost(sum("cost_usd"))}</td><td class="right">{calls.every((e) => e.duration_ms === undefined) ? "" : duration(sum("duration_ms"))}</td></tr>}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function brief(e: object): Record<string, unknown> {
  const leave = new Set(["event", "seq", "time", "run_id", "step", "rank", "node", "visit"]);
  return Object.fromEntries(Object.entries(e).filter(([k]) => !leave.has(k)));
}

// dedent takes away the indent that a definition has in its file.
function dedent(text: string): string {
  const lines = text.split("\n");
  const least = Math.min(...lines.slice(1).filter((l) => l.trim()).map((l) => l.length - l.trimStart().length));
  return Number.isFinite(least) ? [lines[0], ...lines.slice(1).map((l) => l.slice(least))].join("\n") : text;
}

/** StatePanel is the state after a step. */
export function StatePanel({ moment }: { moment: Moment }) {
  return <div class="pane"><Shown title={moment.step === 0 ? "State at the start" : `State after step ${moment.step}`} value={moment.state} /></div>;
}

/** RunPanel is what a run came to. */
export function RunPanel({ trace, data, asks }: { trace: Trace; data: Data; asks?: ComponentChildren }) {
  const r = trace.run.result;
  return (
    <div class="pane">
      <h2>{r.run_id}</h2>
      <dl class="table">
        <dt>Status</dt><dd>{r.status}{r.quality === "degraded" ? ", degraded" : ""} <span class="hint">({r.reason.replaceAll("_", " ")})</span></dd>
        <dt>Started</dt><dd title={exact(r.started_at)}>{clock(r.started_at)}</dd>
        <dt>Took</dt><dd>{duration(r.duration_ms)}</dd>
        <dt>Steps</dt><dd>{r.steps} <span class="hint">of at most {r.max_steps}</span></dd>
        {r.usage.llm_calls > 0 && <><dt>Model calls</dt><dd>{r.usage.llm_calls} <span class="hint">{(r.usage.input_tokens + r.usage.output_tokens).toLocaleString("en")} tokens{r.usage.cost_usd === null ? "" : `, $${r.usage.cost_usd.toFixed(4)}`}</span></dd></>}
      </dl>
      {r.error && <ErrorBox kind={r.error.kind} message={r.error.message} details={r.error.details} />}
      {asks}
      {!asks && r.pending.length > 0 && (
        <section>
          <h3>Waits for</h3>
          {r.pending.map((q, i) => <p key={i}><strong>{q.node}{q.key ? ":" + q.key : ""}</strong> {q.prompt}<br /><code class="command">graphrun answer {r.run_id} '{q.node}{q.key ? ":" + q.key : ""}=…'</code></p>)}
        </section>
      )}
      {r.output !== null && r.output !== undefined && <Shown title="Output" value={r.output} />}
      <section>
        <h3>Commands</h3>
        <p><code class="command">graphrun why {r.run_id}</code> <code class="command">graphrun logs {r.run_id}</code></p>
      </section>
      <p class="hint">{data.flow.file}</p>
    </div>
  );
}

// Findings lead to their lines.
function Findings({ found, onFinding }: { found: Finding[]; onFinding: (f: Finding) => void }) {
  const [all, setAll] = useState(false);
  const shown = all ? found : found.slice(0, 20);
  if (!found.length) return null;
  return (
    <ul class="findings">
      {shown.map((f, i) => <li key={i}><Found f={f} to={`To line ${f.line}`} onGo={() => onFinding(f)} /></li>)}
      {shown.length < found.length && <li><button class="link" onClick={() => setAll(true)}>show all {found.length} findings</button></li>}
    </ul>
  );
}

/** FlowPanel is what is known of a flow before it runs. */
export function FlowPanel({ flow, onFinding }: { flow: Flow; onFinding: (f: Finding) => void }) {
  const found = flow.findings?.diagnostics ?? [];
  const count = (severity: string) => found.filter((f) => f.severity === severity).length;
  return (
    <div class="pane">
      <h2>{flow.name}</h2>
      {flow.description && <p>{flow.description}</p>}
      <section>
        <h3>Findings</h3>
        {found.length === 0 ? <p class="good"><Icon name="done" size={13} /> None: the file is valid.</p> : <p>{[["error", count("error")], ["warning", count("warning")], ["info", count("info")]].filter(([, n]) => n).map(([s, n]) => `${n} ${s}${n === 1 || s === "info" ? "" : "s"}`).join(", ")}</p>}
        <Findings found={found} onFinding={onFinding} />
      </section>
      <section>
        <h3>Inputs</h3>
        {flow.inputs.length === 0 ? <p class="hint">It has no state.</p> : (
          <div class="scroll" tabIndex={0} role="group" aria-label="Inputs">
            <table><thead><tr><th>key</th><th>type</th><th>default</th></tr></thead>
              <tbody>{flow.inputs.map((k) => <tr key={k.key}><td><code>{k.key}</code>{k.required && <span class="tagged">required</span>}{k.secret && <span class="tagged">secret</span>}</td><td>{type(k.schema)}</td><td>{k.default === null || k.default === undefined ? "" : <code>{line(k.default, 40)}</code>}</td></tr>)}</tbody></table>
          </div>
        )}
        <code class="command">{command(flow)}</code>
      </section>
      {flow.bound && (
        <section class="bounds">
          <h3>Bounds</h3>
          <table><thead><tr><td></td><th>at least</th><th>at most</th></tr></thead>
            <tbody>
              <Row name="steps" r={flow.bound.steps} /><Row name="model calls" r={flow.bound.llm_calls} /><Row name="tokens" r={flow.bound.tokens} /><Row name="cost (USD)" r={flow.bound.cost_usd} />
            </tbody></table>
          {flow.bound.loops.map((l, i) => <p key={i} class="hint">Loop of {l.nodes.join(", ")}: {l.bounded_by?.length ? `bounded by ${l.bounded_by.join(", ")}` : "nothing but max_steps ends it"}.</p>)}
        </section>
      )}
    </div>
  );
}

function Row({ name, r }: { name: string; r: Range }) {
  return <tr><td>{name}</td><td>{r.min}</td><td>{r.max === null ? "unbounded" : r.max}{r.limit && <span class="hint"> by {r.limit}</span>}</td></tr>;
}

function type(schema: Record<string, unknown>): string {
  if (Array.isArray(schema.enum)) return schema.enum.map((v) => JSON.stringify(v)).join(" | ");
  const t = Array.isArray(schema.type) ? schema.type.join(" | ") : String(schema.type ?? "any");
  return t === "array" && schema.items ? `list of ${type(schema.items as Record<string, unknown>)}` : t;
}

function command(flow: Flow): string {
  const given = flow.inputs.filter((k) => k.required).map((k) => ` -i ${k.key}=…`).join("");
  return `graphrun run ${shell(flow.file)}${given}`;
}


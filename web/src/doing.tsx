// Doing: starting runs, answering them, stopping them, going on, forking.

import { useState } from "preact/hooks";
import { api, Problem, shell, type RunPage } from "./api";
import type { Flow, Pending, Result } from "./data";
import { Command, Field, kindOf, read, write, type Given, type Schema } from "./form";
import { Icon } from "./icons";
import { clock, exact } from "./text";
import type { Moment } from "./trace";
import { Value } from "./value";
import { go } from "./route";

/** useDoing runs something, and keeps what went wrong. */
export function useDoing(): { busy: boolean; wrong: string; does: (what: () => Promise<unknown>) => Promise<void> } {
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState("");
  const does = async (what: () => Promise<unknown>) => {
    setBusy(true);
    setWrong("");
    try {
      await what();
    } catch (e) {
      setWrong(e instanceof Problem || e instanceof Error ? e.message : String(e));
    }
    setBusy(false);
  };
  return { busy, wrong, does };
}

export function Wrong({ text }: { text: string }) {
  return text ? <p class="failure" role="alert">{text}</p> : null;
}

/** gather reads all fields of a form; problems are by key. */
function gather(keys: { key: string; schema: Schema; required?: boolean }[], given: Record<string, Given>): { values: Record<string, unknown>; problems: Record<string, string> } {
  const values: Record<string, unknown> = {}, problems: Record<string, string> = {};
  for (const k of keys) {
    const text = given[k.key];
    if (text === undefined) {
      if (k.required) problems[k.key] = "is required";
      continue;
    }
    try {
      values[k.key] = read(k.schema, text);
    } catch (e) {
      problems[k.key] = (e as Error).message;
    }
  }
  return { values, problems };
}

// inputFlag is how the command line takes a value; a text that begins with @ would name a
// file there.
function inputFlag(name: string, key: string, value: unknown, secret: boolean): string {
  if (secret) return ` ${name} ${shell(key + "=…")}`;
  return typeof value === "string" && !value.startsWith("@") ? ` ${name} ${shell(`${key}=${value}`)}` : ` ${name} ${shell(`${key}:=${JSON.stringify(value)}`)}`;
}

/** StartPanel starts a run of a flow. */
export function StartPanel({ flow, path, valid, readOnly }: { flow: Flow; path: string; valid: boolean; readOnly: boolean }) {
  const [given, setGiven] = useState<Record<string, Given>>(() => prefilled(flow));
  const [id, setID] = useState<Given>();
  const [steps, setSteps] = useState<Given>();
  const [tried, setTried] = useState(false);
  const doing = useDoing();
  const { values, problems } = gather(flow.inputs, given);
  const secret = new Set(flow.inputs.filter((k) => k.secret).map((k) => k.key));
  const command = `graphrun run ${shell(path)}` + Object.entries(values).map(([k, v]) => inputFlag("-i", k, v, secret.has(k))).join("") + (id ? ` --run-id ${shell(id)}` : "") + (steps ? ` --max-steps ${shell(steps)}` : "");
  const start = (e: Event) => {
    e.preventDefault();
    setTried(true);
    if (Object.keys(problems).length) return;
    void doing.does(async () => {
      const run = await api.start({ flow: path, input: values, run_id: id || undefined, max_steps: steps ? Number(steps) : undefined });
      go(`/run/${encodeURIComponent(run.run_id)}`);
    });
  };
  if (!valid) return <div class="pane"><p class="empty">The file has errors: it can't be run until they are mended. The source shows them at their lines.</p></div>;
  if (readOnly) return <div class="pane"><p class="empty">The server was started with --read-only: no run can be started here.</p></div>;
  return (
    <form class="pane" onSubmit={start} noValidate>
      <h2>Start a run of {flow.name}</h2>
      {flow.inputs.length === 0 && <p class="hint">It takes no input.</p>}
      {flow.inputs.map((k) => (
        <Field key={k.key} name={k.key} schema={k.schema} required={k.required} secret={k.secret} given={given[k.key]} problem={tried ? problems[k.key] : undefined}
          hint={k.default === null || k.default === undefined || k.secret ? "" : `default ${JSON.stringify(k.default).slice(0, 60)}`} onGiven={(text) => setGiven((g) => ({ ...g, [k.key]: text }))} />
      ))}
      <details class="more"><summary>More</summary>
        <Field name="Run id" schema={{ type: "string" }} given={id} onGiven={setID} hint="a new one unless given" />
        <Field name="Most steps" schema={{ type: "integer" }} given={steps} onGiven={setSteps} hint="the flow's unless given" />
      </details>
      <Wrong text={doing.wrong} />
      <p><button class="main" disabled={doing.busy}>Start</button></p>
      <Command text={command} />
    </form>
  );
}

const againKey = "graphrun-again";

// prefilled takes what an earlier run was started with.
function prefilled(flow: Flow): Record<string, Given> {
  const kept = sessionStorage.getItem(againKey);
  sessionStorage.removeItem(againKey);
  if (!kept) return {};
  const input = JSON.parse(kept) as Record<string, unknown>;
  return Object.fromEntries(flow.inputs.filter((k) => !k.secret && k.key in input).map((k) => [k.key, write(k.schema, input[k.key])]));
}

/** Again leads to the form that starts another run like this one. */
function again(page: RunPage) {
  const input = page.run!.events.find((e) => e.event === "run_started")?.input ?? {};
  sessionStorage.setItem(againKey, JSON.stringify(input));
  go(`/flow/${page.path.split("/").map(encodeURIComponent).join("/")}#tab=start`);
}

/** Controls are the buttons of a run. */
export function Controls({ page, result, readOnly, onDone }: { page: RunPage; result: Result; readOnly: boolean; onDone: () => void }) {
  const doing = useDoing();
  const [sure, setSure] = useState(false);
  const id = result.run_id, status = result.status;
  const act = (what: () => Promise<unknown>) => () => doing.does(async () => { await what(); onDone(); });
  if (readOnly) return null;
  const resumable = ["crashed", "failed", "cancelled", "limit", "stuck"].includes(status) || (status === "paused" && result.pending.length === 0);
  return (
    <div class="controls" role="group" aria-label="Controls of the run">
      {status === "running" && <button disabled={doing.busy} onClick={act(() => api.pause(id))} title={`graphrun runs pause ${id}`}>Pause</button>}
      {(status === "running" || status === "paused" || status === "crashed") && (sure
        ? <button class="bad" disabled={doing.busy} onClick={act(async () => { setSure(false); await api.cancel(id); })}>Cancel it for good?</button>
        : <button disabled={doing.busy} onClick={() => setSure(true)} title={`graphrun runs cancel ${id}`}>Cancel</button>)}
      {resumable && <button class="main" disabled={doing.busy} onClick={act(() => api.resume(id))} title={`graphrun resume ${id}`}>Resume</button>}
      {page.path && <button onClick={() => again(page)}>Run again</button>}
      {doing.wrong && <span class="bad" role="alert">{doing.wrong}</span>}
    </div>
  );
}

/** Questions are what a run asks, as forms. */
export function Questions({ result, readOnly, onDone }: { result: Result; readOnly: boolean; onDone: () => void }) {
  return (
    <section class="asks" aria-label="What the run asks">
      {result.pending.map((q) => <Ask key={target(q)} q={q} id={result.run_id} readOnly={readOnly} onDone={onDone} />)}
    </section>
  );
}

/** target names a question as an answer does. */
export const target = (q: Pending) => q.node + (q.index === undefined || q.index === null ? "" : `[${q.index}]`) + (q.key ? ":" + q.key : "");

function Ask({ q, id, readOnly, onDone }: { q: Pending; id: string; readOnly: boolean; onDone: () => void }) {
  const doing = useDoing();
  const schema = (q.schema ?? { type: "string" }) as Schema;
  const properties = schema.type === "object" && schema.properties ? inOrder(Object.entries(schema.properties as Record<string, Schema>), q.fields ?? []) : null;
  const required = new Set((schema.required as string[]) ?? []);
  const [given, setGiven] = useState<Record<string, Given>>({});
  const [tried, setTried] = useState(false);
  const keys = properties ? properties.map(([key, s]) => ({ key, schema: s, required: required.has(key) })) : [{ key: "Answer", schema, required: true }];
  const { values, problems } = gather(keys, given);
  const value = properties ? values : values.Answer;
  const choices = kindOf(schema) === "choice" ? (schema.enum as unknown[]) : kindOf(schema) === "boolean" ? [true, false] : null;
  const send = (v: unknown) => doing.does(async () => { await api.answer(id, target(q), v); onDone(); });
  const text = (v: unknown) => (typeof v === "string" ? v : JSON.stringify(v));
  return (
    <form class="ask" noValidate onSubmit={(e) => { e.preventDefault(); setTried(true); if (!Object.keys(problems).length) void send(value); }}>
      <h3><span><Icon name="human" size={14} /> {target(q)} asks{q.due ? <span class="hint" title={exact(q.due)}> until {clock(q.due)}</span> : null}</span></h3>
      <p class="prompt">{q.prompt}</p>
      {q.kind === "tool" && <div class="value"><strong>{q.name}</strong><Value value={q.args ?? {}} /></div>}
      {readOnly ? <p class="hint">The server was started with --read-only.</p>
        : choices ? <div class="choices">{choices.map((c) => <button type="button" key={JSON.stringify(c)} disabled={doing.busy} onClick={() => send(c)}>{text(c)}</button>)}</div>
        : <>
            {keys.map((k) => <Field key={k.key} name={k.key} schema={k.schema} required={k.required} given={given[k.key]} problem={tried ? problems[k.key] : undefined} onGiven={(t) => setGiven((g) => ({ ...g, [k.key]: t }))} />)}
            <p><button class="main" disabled={doing.busy}>Answer</button></p>
          </>}
      <Wrong text={doing.wrong} />
      <Command text={`graphrun answer ${id} ${shell(`${target(q)}=${value === undefined ? "…" : text(value)}`)} --resume`} />
    </form>
  );
}

/** ForkPanel starts a new run from a step of this one, with its state edited. */
export function ForkPanel({ page, moment, readOnly }: { page: RunPage; moment: Moment; readOnly: boolean }) {
  const keys = page.flow.inputs;
  const state = moment.state;
  const [given, setGiven] = useState<Record<string, Given>>({});
  const [tried, setTried] = useState(false);
  const doing = useDoing();
  const changed = Object.fromEntries(Object.entries(given).filter(([k, text]) => text !== undefined && text !== write(schemaOf(page.flow, k), state[k])));
  const { values, problems } = gather(keys.filter((k) => k.key in changed), changed);
  const id = page.run!.result.run_id;
  const secret = new Set(keys.filter((k) => k.secret).map((k) => k.key));
  const fork = (e: Event) => {
    e.preventDefault();
    setTried(true);
    if (Object.keys(problems).length) return;
    void doing.does(async () => {
      const run = await api.fork(id, { at: moment.step, set: values });
      go(`/run/${encodeURIComponent(run.run_id)}`);
    });
  };
  if (readOnly) return <div class="pane"><p class="empty">The server was started with --read-only: nothing can be forked here.</p></div>;
  return (
    <form class="pane" onSubmit={fork} noValidate>
      <h2>Fork after step {moment.step}</h2>
      <p class="hint">A new run begins with the state as it was then, and goes on at once; this one stays as it is. Move the slider for another step; change what is to be different.</p>
      {keys.map((k) => (
        <Field key={k.key} name={k.key} schema={k.schema} secret={k.secret} given={given[k.key] ?? (k.secret ? "" : write(k.schema, state[k.key]))} problem={tried ? problems[k.key] : undefined}
          hint={k.key in changed ? "changed" : ""} onGiven={(t) => setGiven((g) => ({ ...g, [k.key]: t ?? "" }))} />
      ))}
      <Wrong text={doing.wrong} />
      <p><button class="main" disabled={doing.busy}>Fork</button></p>
      <Command text={`graphrun fork ${id} --at ${moment.step}` + Object.entries(values).map(([k, v]) => inputFlag("--set", k, v, secret.has(k))).join("")} />
    </form>
  );
}

/** inOrder sorts entries by a list of keys; those that it lacks come last. */
function inOrder<T>(entries: [string, T][], order: string[]): [string, T][] {
  const place = (key: string) => { const at = order.indexOf(key); return at < 0 ? order.length : at; };
  return entries.slice().sort((a, b) => place(a[0]) - place(b[0]));
}

const schemaOf = (flow: Flow, key: string): Schema => flow.inputs.find((k) => k.key === key)?.schema ?? {};

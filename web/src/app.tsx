// The page: the graph, what stands beside it, and for a run the steps below.

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Data, Drawing, Finding } from "./data";
import { Events } from "./events";
import { GraphView } from "./graph";
import { Icon } from "./icons";
import { Logs } from "./logs";
import { FlowPanel, NodePanel, RunPanel, StatePanel, StepPanel } from "./panel";
import { Source, worst } from "./source";
import { count, duration, exact, typing } from "./text";
import { Timeline } from "./timeline";
import { Trace, type Moment } from "./trace";

/** Place is what is looked at; it stands in the address. */
interface Place { tab: string; node: string | null; step: number | null; line: number | null }

/** Serving is what a server adds to the page. */
export interface Serving {
  /** trace is that of a run that goes on; version and key change when it or the data does. */
  trace?: Trace;
  version?: number;
  key: string;
  statuses?: Map<string, string>;
  tabs: [string, string, (moment: Moment | null) => ComponentChildren][];
  banner: string;
  controls?: ComponentChildren;
  asks?: ComponentChildren;
  parent?: { id: string; step: number } | null;
  flow?: string;
  /** more asks for all of a decision, said for what a node has said. */
  more?: (step: number) => Promise<void>;
  said?: (node: string) => Promise<void>;
  /** logs is the tab of what all nodes have said. */
  logs?: ComponentChildren;
}

function readPlace(run: boolean, hash = location.hash): Place {
  const q = new URLSearchParams(hash.slice(1));
  const step = q.get("step"), line = q.get("line");
  return { tab: q.get("tab") ?? (run ? "run" : "flow"), node: q.get("node"), step: step === null ? null : Math.max(0, Number(step) || 0), line: Number(line) || null };
}

function writePlace(p: Place) {
  const q = new URLSearchParams();
  q.set("tab", p.tab);
  if (p.node) q.set("node", p.node);
  if (p.step !== null) q.set("step", String(p.step));
  if (p.line !== null) q.set("line", String(p.line));
  history.replaceState(history.state, "", location.pathname + location.search + "#" + q);
}

export function App({ data, live }: { data: Data; live?: Serving }) {
  const own = useMemo(() => (data.run && !live?.trace ? new Trace(data) : null), [data]);
  const trace = live?.trace ?? own;
  const version = live?.version ?? 0;
  const [place, setPlace] = useState(() => readPlace(!!trace));
  const go = (change: Partial<Place>) => setPlace((old) => ({ ...old, ...change }));
  useEffect(() => writePlace(place), [place]);
  useEffect(() => {
    // The address of the event: writePlace may have put another one in its place meanwhile.
    const changed = (e: HashChangeEvent) => setPlace(readPlace(!!trace, new URL(e.newURL).hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);

  const statuses = useMemo(() => live?.statuses ?? statusesOf(data.drawing), [data, version]);
  const last = trace?.steps.length ?? 0;
  const step = Math.min(place.step ?? last, last);
  const moment = useMemo(() => trace?.at(step, statuses) ?? null, [trace, step, version]);
  const decision = trace?.decisions.get(step);
  useEffect(() => {
    if (live?.more && decision && !decision.candidates.some((c) => c.test) && decision.candidates.some((c) => c.when)) void live.more(step).catch(() => 0);
  }, [step, decision]);
  // Only while the node's panel is shown: what is drawn anew would reset forms.
  const going = !!trace && place.tab === "node" && !!place.node && trace.run.result.status === "running" && trace.of(place.node).some((x) => x.end === null);
  useEffect(() => {
    if (!live?.said || !place.node || !going) return;
    const node = place.node, said = live.said;
    const timer = setInterval(() => void said(node).catch(() => 0), 1000);
    return () => clearInterval(timer);
  }, [place.node, going]);
  const ended = trace && place.node ? trace.of(place.node).filter((x) => x.end !== null).length : 0;
  useEffect(() => {
    if (live?.said && place.node && ended) void live.said(place.node).catch(() => 0);
  }, [place.node, ended]);
  const spans = useMemo(() => spansOf(data), [data]);
  const findings = useMemo(() => {
    const by = new Map<string, string>();
    for (const s of spans) {
      const here = (data.flow.findings?.diagnostics ?? []).filter((f) => f.line >= s.from && f.line <= s.to);
      if (here.length) by.set(s.path, worst(here));
    }
    return by;
  }, [data]);
  const notes = useMemo(() => (path: string) => [...(data.flow.nodes[path]?.notes ?? []), ...(data.flow.nodes[path]?.finally ? ["finally"] : [])].join(" · "), [data]);
  const ofFinally = useMemo(() => (path: string) => !!data.flow.nodes[path]?.finally, [data]);
  const plain = trace || ![...statuses.values()].some(Boolean) ? null : statuses;

  const nodeAt = (line: number) => spans.find((s) => line >= s.from && line <= s.to)?.path ?? null;
  const foundAt = (path: string | null) => (data.flow.findings?.diagnostics ?? []).filter((f) => path && nodeAt(f.line) === path);
  const onFinding = (f: Finding) => go({ tab: "source", line: f.line, node: nodeAt(f.line) });
  const select = (node: string | null) => go({ node, line: null, tab: node && !["source", "events", "logs"].includes(place.tab) ? "node" : place.tab });
  const toStep = (n: number) => go({ step: n });
  useEffect(() => {
    if (!trace) return;
    const key = (e: KeyboardEvent) => {
      if (typing(e) || e.ctrlKey || e.metaKey || e.altKey) return;
      const last = trace.steps.length;
      if (e.key === "[") setPlace((p) => ({ ...p, step: Math.max(0, Math.min(p.step ?? last, last) - 1) }));
      if (e.key === "]") setPlace((p) => ({ ...p, step: Math.min(last, (p.step ?? last) + 1) }));
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, [trace]);

  const added = live?.tabs ?? [];
  const tabs = [...(trace
    ? [["run", "Run"], ["step", "Step"], ["node", "Node"], ["state", "State"], ["events", "Events"], ["logs", "Logs"], ["source", "Source"]]
    : [["flow", "Flow"], ["node", "Node"], ["source", "Source"]]), ...added.map(([id, name]) => [id, name])];
  const tab = tabs.some(([id]) => id === place.tab) ? place.tab : tabs[0][0];
  const span = spans.find((s) => s.path === place.node);
  return (
    <>
      <Header data={data} live={live} />
      {live?.banner && <p class="banner" role="alert">{live.banner}</p>}
      <main class={(trace ? "run" : "flow") + (live?.asks ? " asked" : "")}>
        <section class="stage" aria-label="Graph">
          <GraphView drawing={data.drawing} notes={notes} last={ofFinally} moment={moment} plain={plain} selected={place.node} onSelect={select} onFinding={(path) => onFinding(foundAt(path)[0])} findings={findings} />
        </section>
        {trace && moment && (
          <section class="below" aria-label="Steps">
            <Steps trace={trace} step={step} last={last} onStep={(n) => go({ step: live && n === last ? null : n, tab: place.tab === "run" || place.tab === "node" ? "step" : place.tab })} />
            <Timeline trace={trace} version={version} step={step} selected={place.node} onStep={toStep} onSelect={(path) => go({ node: path, tab: "node" })} />
          </section>
        )}
        <section class="side" aria-label="Details">
          <Tabs tabs={tabs} tab={tab} onTab={(t) => go({ tab: t })} />
          <div class="tabpanel" role="tabpanel" id="panel" aria-labelledby={"tab-" + tab} tabIndex={tab === "events" || tab === "source" ? -1 : 0}>
            {tab === "run" && trace && <RunPanel trace={trace} data={data} asks={live?.asks} />}
            {added.map(([id, , show]) => tab === id && <div key={id}>{show(moment)}</div>)}
            {tab === "flow" && <FlowPanel flow={data.flow} onFinding={onFinding} />}
            {tab === "step" && trace && moment && <StepPanel trace={trace} moment={moment} data={data} onSelect={select} />}
            {tab === "node" && <NodePanel path={place.node} data={data} trace={trace} step={step} onStep={toStep} found={foundAt(place.node)} onFinding={onFinding} />}
            {tab === "state" && moment && <StatePanel moment={moment} />}
            {tab === "events" && trace && <Events events={trace.run.events} version={version} start={trace.start} onSelect={(node) => go({ node })} />}
            {tab === "logs" && trace && (live?.logs ?? <Logs said={trace.run.said} cut={trace.run.said_cut} busy={false} />)}
            {tab === "source" && <Source flow={data.flow} selected={place.line !== null ? [place.line, place.line] : span ? [span.from, span.to] : null} lines={new Set(spans.flatMap((s) => range(s.from, s.to)))}
              onLine={(n) => { go({ line: null, node: nodeAt(n) ?? place.node }); }} />}
          </div>
        </section>
      </main>
    </>
  );
}

function Header({ data, live }: { data: Data; live?: Serving }) {
  const r = live?.trace?.run.result ?? data.run?.result;
  const errors = data.flow.findings?.diagnostics.filter((f) => f.severity === "error").length ?? 0;
  // How long a run takes so far; of one that was resumed the server knows.
  const running = r?.status === "running" && !live?.trace?.run.events.some((e) => e.event === "run_resumed") ? Date.now() - Date.parse(r.started_at) : 0;
  return (
    <header>
      <span class="logo" aria-hidden="true"><svg viewBox="0 0 24 24" width="22" height="22"><path d="M6 6h6a4 4 0 0 1 4 4v4M6 6v8a4 4 0 0 0 4 4h2" /><circle cx="6" cy="6" r="3" /><circle cx="16" cy="17" r="3.500" /></svg></span>
      {live && <a class="meta" href="/">All runs</a>}
      <h1>{live?.flow ? <a href={"/flow/" + live.flow.split("/").map(encodeURIComponent).join("/")}>{data.flow.name}</a> : data.flow.name}</h1>
      {r ? (
        <>
          <span class={"pill " + (r.quality === "degraded" ? "degraded" : r.status)}>{r.status}{r.quality === "degraded" ? ", degraded" : ""}</span>
          <span class="meta">{r.run_id}</span>
          <span class="meta" title={`since ${exact(r.started_at)}`}>{count(r.steps, "step")} in {duration(Math.max(r.duration_ms, running))}</span>
          {live?.parent && <span class="meta">fork of <a href={`/run/${encodeURIComponent(live.parent.id)}`}>{live.parent.id}</a> at {live.parent.step} · <a href={`/compare/${encodeURIComponent(live.parent.id)}/${encodeURIComponent(r.run_id)}`}>compare</a></span>}
          {live && !live.parent && <span class="meta"><a href={`/?graph=${encodeURIComponent(r.graph)}&compare=${encodeURIComponent(r.run_id)}`}>compare</a></span>}
          {r.usage.llm_calls > 0 && <span class="meta">{count(r.usage.llm_calls, "model call")}{r.usage.cost_usd ? `, $${r.usage.cost_usd.toFixed(4)}` : ""}</span>}
        </>
      ) : (
        <>
          <span class={"pill " + (errors ? "failed" : "")}>{errors ? count(errors, "error") : "flow"}</span>
          <span class="meta">{count(data.drawing.nodes.length, "node")}, {count(data.drawing.edges.filter((e) => e.index >= 0).length, "edge")}</span>
          <span class="meta">{data.flow.file}</span>
        </>
      )}
      {live?.controls}
    </header>
  );
}

function Tabs({ tabs, tab, onTab }: { tabs: string[][]; tab: string; onTab: (id: string) => void }) {
  const key = (e: KeyboardEvent) => {
    const by = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
    if (!by) return;
    e.preventDefault();
    const i = (tabs.findIndex(([id]) => id === tab) + by + tabs.length) % tabs.length;
    onTab(tabs[i][0]);
    (e.currentTarget as HTMLElement).querySelectorAll("button")[i].focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="Details" onKeyDown={key}>
      {tabs.map(([id, name]) => (
        <button key={id} id={"tab-" + id} role="tab" aria-selected={id === tab} aria-controls="panel" tabIndex={id === tab ? 0 : -1} onClick={() => onTab(id)}>{name}</button>
      ))}
    </div>
  );
}

function Steps({ trace, step, last, onStep }: { trace: Trace; step: number; last: number; onStep: (n: number) => void }) {
  const x = trace.steps[step - 1];
  const name = step === 0 ? "before the first step" : x ? x.node + (x.visit > 1 ? ` #${x.visit}` : "") : "";
  return (
    <div class="steps">
      <button onClick={() => onStep(0)} disabled={step === 0} title="First step" aria-label="First step"><Icon name="first" /></button>
      <button onClick={() => onStep(step - 1)} disabled={step === 0} title="Previous step ([)" aria-label="Previous step"><Icon name="back" /></button>
      <input type="range" min={0} max={last} value={step} aria-label="Step" aria-valuetext={`step ${step} of ${last}, ${name}`} onInput={(e) => onStep(Number(e.currentTarget.value))} />
      <button onClick={() => onStep(step + 1)} disabled={step === last} title="Next step (])" aria-label="Next step"><Icon name="forth" /></button>
      <button onClick={() => onStep(last)} disabled={step === last} title="Latest" aria-label="Latest"><Icon name="last" /></button>
      <span class="where"><b>{step}</b><span class="hint">/{last}</span> <span class={x?.outcome === "failure" ? "bad" : ""}>{name}</span></span>
    </div>
  );
}

// statusesOf is how a painted drawing says that its nodes stand, by path.
function statusesOf(d: Drawing, prefix = "", out = new Map<string, string>()): Map<string, string> {
  for (const n of d.nodes) {
    out.set(prefix + n.id, n.status ?? "");
    const inner = d.subgraphs[n.id];
    if (inner) statusesOf(inner, prefix + n.id + "/", out);
  }
  return out;
}

// spansOf is which lines of the file define which node.
function spansOf(data: Data): { path: string; from: number; to: number }[] {
  return data.drawing.nodes.map((n) => {
    const text = (data.flow.nodes[n.id]?.text ?? "").replace(/\s+$/, "");
    const value = data.flow.source.indexOf(text, offset(data.flow.source, n.line));
    const to = value < 0 ? n.line : data.flow.source.slice(0, value + text.length).split("\n").length;
    return { path: n.id, from: n.line, to: Math.max(n.line, to) };
  });
}

function offset(text: string, line: number): number {
  let at = 0;
  for (let i = 1; i < line; i++) at = text.indexOf("\n", at) + 1;
  return at;
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

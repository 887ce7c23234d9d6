// A run as the page shows it: executions with their attempts, and the run as it
// was after any step.

import type { Piece } from "./api";
import type { Data, Decision, Failure, Result, RunEvent, Run, Said, Spoken } from "./data";

/** Attempt is one try of an execution; times are milliseconds from the run's start. */
export interface Attempt {
  number: number;
  start: number;
  end: number | null;
  error: Failure | null;
  delay: number;
}

/** Execution is one visit of a node, also of one in a subgraph or in finally. */
export interface Execution {
  index: number;
  node: string;
  step: number; // of the run; 0 in subgraphs and in finally
  branch: string; // the first node of its branch; "" outside of branches
  visit: number;
  kind: string;
  start: number;
  end: number | null;
  began: number; // the seq of the event that began it
  seq: number; // of the event that ended it
  outcome: "running" | "success" | "failure" | "cancelled"; // cancelled: no visit, and no step
  cached: boolean;
  skipped: boolean;
  finally: boolean;
  attempts: Attempt[];
  output: unknown;
  error: Failure | null;
  events: RunEvent[]; // usage, tools, progress
  elements: { done: number; failed: number; total: number; list: Element[] } | null;
}

/** Element is one element of an each that has ended. */
export interface Element { index: number; item: unknown; outcome: string; at: number }

/** NodeMark says how a node stands after a step. */
export interface NodeMark {
  status: string;
  visits: number;
  failed: number;
  cached: boolean;
  elements: Execution["elements"];
}

/** Moment is a run after a step. */
export interface Moment {
  step: number;
  nodes: Map<string, NodeMark>;
  edges: Map<string, number>; // path of the graph + "#" + index of the edge, or from>to for a goto
  here: string | null; // the node of the step
  current: Set<string>;
  next: Set<string>;
  state: Record<string, unknown>;
  before: Record<string, unknown>;
}

/** plainPath is a node's path without the elements of an each. */
export const plainPath = (node: string) => node.replace(/\[\d+\]/g, "");

const inner = (node: string) => node.includes("/");

// keyOf tells executions apart, those of elements and branches too.
const keyOf = (e: { node?: string; place?: string; visit?: number; branch?: string }) => `${e.place ?? e.node}#${e.visit ?? 1}@${e.branch ?? ""}`;

export class Trace {
  readonly run: Run;
  readonly start: number;
  length: number; // milliseconds
  private readonly known = new Map<string, Execution>();
  readonly executions: Execution[] = [];
  /** steps[i] is the execution that was step i+1. */
  readonly steps: Execution[] = [];
  readonly decisions = new Map<number, Decision>();

  constructor(data: Data) {
    this.run = data.run!;
    this.start = Date.parse(this.run.result.started_at);
    for (const e of this.run.events) this.add(e, this.known);
    for (const d of this.run.decisions) if (!inner(d.node)) this.decisions.set(d.step, d);
    this.length = Math.max(1, this.run.result.duration_ms, ...tail(this.executions.map((x) => x.end ?? x.start)));
  }

  /** push adds what has happened since. */
  push(events: RunEvent[]) {
    for (const e of events) {
      this.run.events.push(e);
      this.add(e, this.known);
      this.length = Math.max(this.length, Date.parse(e.time) - this.start);
      if (e.event === "edges_resolved" && e.candidates) this.decide(e);
      if (e.event === "node_output" && e.node && typeof e.text === "string" && e.text) {
        this.run.said.push({ node: e.node, place: e.place ?? e.node, visit: e.visit ?? 1, attempt: e.attempt ?? 1, stream: "text", text: e.text });
      }
    }
  }

  /** recorded adds a piece of what is recorded of the run. */
  recorded(p: Piece) {
    const from = this.executions.length;
    for (const e of p.events ?? []) {
      this.run.events.push(e);
      this.add(e, this.known);
    }
    for (const x of this.executions.slice(from)) this.length = Math.max(this.length, x.end ?? x.start);
    for (const d of p.decisions ?? []) {
      this.run.decisions.push(d);
      if (!inner(d.node)) this.decisions.set(d.step, d);
    }
    this.run.said.push(...(p.said ?? []));
    this.run.said_cut += p.said_cut ?? 0;
    if (p.conversation) this.run.conversation = p.conversation;
  }

  private decide(e: RunEvent) {
    const x = this.known.get(keyOf(e));
    const d: Decision = { step: e.step ?? 0, node: e.node!, place: e.place, visit: e.visit ?? 1, outcome: x?.outcome ?? "success", next: e.next ?? [], candidates: e.candidates as Decision["candidates"] };
    this.run.decisions.push(d);
    if (!inner(d.node)) this.decisions.set(d.step, d);
  }

  /** explain puts what was asked for later in the place of decisions. */
  explain(list: Decision[]) {
    for (const d of list) {
      const i = this.run.decisions.findIndex((o) => o.node === d.node && o.place === d.place && o.visit === d.visit && o.step === d.step);
      if (i < 0) continue;
      this.run.decisions[i] = d;
      if (!inner(d.node)) this.decisions.set(d.step, d);
    }
  }

  /** heard is what a node has said, whole. */
  heard(node: string, said: Said[]) {
    const rest = this.run.said.filter((s) => s.node !== node);
    this.run.said.length = 0;
    for (const s of rest.concat(said)) this.run.said.push(s);
  }

  /** spoke is what a node has added to the conversation, all of it. */
  spoke(node: string, list: Spoken[]) {
    this.run.conversation = (this.run.conversation ?? []).filter((s) => s.node !== node).concat(list);
  }

  /** stands is how the run stands now. */
  stands(result: Result) {
    this.run.result = result;
  }

  /** tick lets time pass in a run that goes on. */
  tick(now: number) {
    this.length = Math.max(this.length, now - this.start);
  }

  private add(e: RunEvent, known: Map<string, Execution>) {
    if (!e.node) return;
    const at = Date.parse(e.time) - this.start;
    const key = keyOf(e), node = e.place ?? e.node;
    let x = known.get(key);
    if (e.event === "node_started") {
      if (!x) {
        x = {
          index: this.executions.length, node, step: inner(node) ? 0 : (e.step ?? 0), branch: e.branch ?? "", visit: e.visit ?? 1,
          kind: e.kind ?? "", start: at, end: null, began: e.seq, seq: Infinity, outcome: "running", cached: false, skipped: false, finally: !!e.finally,
          attempts: [], output: undefined, error: null, events: [], elements: null,
        };
        known.set(key, x);
        this.executions.push(x);
      }
      if (x.step > 0 && this.steps[x.step - 1] === x) { // it begins anew
        delete this.steps[x.step - 1];
        if (x.step === this.steps.length) this.steps.length--;
      }
      // A run that is taken up goes on with the visit that it was lost in.
      Object.assign(x, { outcome: "running", end: null, seq: Infinity, error: null });
      const last = x.attempts.at(-1);
      if (last && last.end === null) last.end = at;
      x.attempts.push({ number: e.attempt ?? 1, start: at, end: null, error: null, delay: 0 });
      return;
    }
    if ((e.event === "node_completed" || e.event === "node_failed") && !x) {
      // A cached or skipped node is told of only when it has ended.
      x = {
        index: this.executions.length, node, step: inner(node) ? 0 : (e.step ?? 0), branch: e.branch ?? "", visit: e.visit ?? 1,
        kind: e.kind ?? "", start: at - (e.duration_ms ?? 0), end: null, began: e.seq, seq: Infinity, outcome: "running", cached: false, skipped: false,
        finally: !!e.finally, attempts: [], output: undefined, error: null, events: [], elements: null,
      };
      known.set(key, x);
      this.executions.push(x);
    }
    if (!x) return;
    const attempt = x.attempts.at(-1);
    switch (e.event) {
      case "node_retrying":
        if (attempt) Object.assign(attempt, { end: at, error: e.error ?? null, delay: Number(e.next_delay_ms ?? 0) });
        break;
      case "node_completed":
      case "node_failed":
        if (attempt && attempt.end === null) attempt.end = at;
        if (attempt && e.error) attempt.error = e.error;
        Object.assign(x, {
          end: at, seq: e.seq, outcome: e.event === "node_completed" ? "success" : e.step || e.finally ? "failure" : "cancelled", cached: !!e.cached, skipped: !!e.skipped, output: e.output, error: e.error ?? null,
        });
        if (e.step && !inner(node)) x.step = e.step;
        if (x.step > 0) this.steps[x.step - 1] = x;
        break;
      case "node_event":
        if (e.type === "element" && e.data) {
          const list = Number(e.data.done) > 1 ? (x.elements?.list ?? []) : []; // an attempt begins anew
          list.push({ index: Number(e.data.index), item: e.data.item, outcome: String(e.data.outcome), at });
          x.elements = { done: Number(e.data.done), failed: Number(e.data.failed), total: Number(e.data.total), list };
          break;
        }
        x.events.push(e);
        break;
      case "llm_usage":
      case "tool_called":
        x.events.push(e);
    }
  }

  /** of returns the executions of a node by its path. */
  of(path: string): Execution[] {
    return this.executions.filter((x) => plainPath(x.node) === path);
  }

  /** inputs are the executions that an execution got its input from, since it ran before. */
  inputs(x: Execution): Execution[] {
    const cut = x.node.lastIndexOf("/") + 1;
    const place = x.node.slice(0, cut), id = x.node.slice(cut).replace(/\[\d+\]$/, "");
    const before = this.known.get(keyOf({ ...x, visit: x.visit - 1 }))?.began ?? 0;
    const out: Execution[] = [];
    for (const d of this.run.decisions) {
      const at = d.place ?? d.node;
      if (!at.startsWith(place) || at.indexOf("/", cut) >= 0 || !d.next.some((n) => n.slice(n.lastIndexOf("/") + 1) === id)) continue;
      const from = this.known.get(keyOf(d));
      if (from && from.seq < x.began && from.seq >= before && !out.includes(from)) out.push(from);
    }
    return out;
  }

  /** at is the run after a step; 0 is before the first, and the last is as it stands. */
  at(step: number, final: Map<string, string>): Moment {
    const last = step >= this.steps.length;
    const here = this.steps[step - 1];
    const seq = last ? Infinity : (here?.seq ?? 0);
    const m: Moment = { step, nodes: new Map(), edges: new Map(), here: here?.node ?? null, current: new Set(), next: new Set(), state: {}, before: {} };
    for (const x of this.executions) {
      if (x.seq > seq || (x.seq === Infinity && !last)) continue;
      const path = plainPath(x.node);
      const mark = m.nodes.get(path) ?? { status: "", visits: 0, failed: 0, cached: false, elements: null };
      if (x.outcome === "success" || x.outcome === "failure") mark.visits++;
      if (x.outcome === "failure") mark.failed++;
      mark.status = { failure: "failed", success: "completed", running: "running", cancelled: "cancelled" }[x.outcome];
      mark.cached = x.cached;
      mark.elements = x.elements;
      m.nodes.set(path, mark);
    }
    if (last) {
      for (const [path, status] of final) {
        if (!["waiting", "running", "failed"].includes(status)) continue;
        const mark = m.nodes.get(path) ?? { status, visits: 0, failed: 0, cached: false, elements: null };
        m.nodes.set(path, { ...mark, status });
        if (status !== "failed") {
          m.current.add(path);
          m.here = path;
        }
      }
    }
    for (const d of this.run.decisions) {
      const root = !inner(d.node);
      if (root && d.step > step) continue;
      if (!root && this.after(d, seq)) continue;
      const graph = plainPath(d.node).split("/").slice(0, -1).join("/");
      const from = d.node.split("/").at(-1)!;
      for (const c of d.candidates) {
        if (!c.fired) continue;
        const key = `${graph}#${c.edge >= 0 ? c.edge : `${from}>${c.to}`}`;
        m.edges.set(key, (m.edges.get(key) ?? 0) + 1);
      }
    }
    if (here && !last) {
      m.current.add(here.node);
      for (const n of this.decisions.get(step)?.next ?? []) m.next.add(n);
    }
    this.fold(m, here, last);
    return m;
  }

  private after(d: Decision, seq: number): boolean {
    if (seq === Infinity) return false;
    const x = this.known.get(keyOf(d));
    return !x || x.seq > seq;
  }


  // fold makes the state after a step: what a step wrote, or a join merged, follows its end.
  private fold(m: Moment, here: Execution | undefined, last: boolean) {
    const until = m.step === 0 ? 0 : (here?.seq ?? Infinity);
    const state: Record<string, unknown> = { ...this.run.state };
    let before: Record<string, unknown> | null = null;
    for (const e of this.run.events) {
      if (e.event !== "state_updated" || inner(e.node ?? "")) continue;
      const own = e.step === m.step && m.step > 0;
      if (e.seq > until && !own && !(last && m.step > 0)) break;
      if (own) before ??= { ...state };
      Object.assign(state, e.delta);
    }
    m.state = state;
    m.before = before ?? state;
  }
}

// tail keeps the spread of a long list within what a call may take.
function tail(list: number[]): number[] {
  return list.length ? [list.reduce((a, b) => Math.max(a, b))] : [];
}

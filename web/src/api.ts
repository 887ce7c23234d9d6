// Asking the server that serves the page. A page in a file has none, and its policy
// lets it ask nobody.

import type { Data, Decision, Pending, Result, RunEvent, Said, Spoken } from "./data";

/** Problem is why the server did not do something (RFC 9457). */
export class Problem extends Error {
  constructor(readonly status: number, readonly title: string, readonly problems: string[]) {
    super(problems.length ? problems.join("; ") : title);
  }
}

export interface ListedFlow { path: string; name: string; description: string; nodes: number; errors: number; warnings: number; triggers?: { cron?: string; timezone?: string; next?: string; webhook?: string }[] }

export interface ListedRun {
  run_id: string; graph: string; file: string; status: string; reason?: string; quality?: string | null; unreadable?: string; steps: number; started_at: string; updated_at: string;
  labels?: Record<string, string>; parent?: string; parent_step?: number; driver?: string;
}

export interface Question extends Pending { run: string; graph: string; target: string; choices: unknown[] | null }

export interface RunPage extends Data {
  path: string; last_event: number; driver: string; here: boolean; parent?: string; parent_step?: number; labels?: Record<string, string>;
}

export interface FlowPage extends Data { path: string; valid: boolean }

export interface ServerInfo { version: string; dir: string; store: string; read_only: boolean; driving: number }

async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await fetch("/api/v1" + path, {
    method, credentials: "same-origin", headers: body === undefined ? {} : { "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (answer.status === 204 || answer.status === 304) return undefined as T;
  const value = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Problem(answer.status, value.detail ?? value.title ?? answer.statusText, value.problems ?? []);
  return value as T;
}

const run = (id: string) => `/runs/${encodeURIComponent(id)}`;
const flow = (path: string) => "/flows/" + path.split("/").map(encodeURIComponent).join("/");

export const api = {
  server: () => ask<ServerInfo>("GET", "/server"),
  flows: () => ask<{ flows: ListedFlow[] }>("GET", "/flows"),
  flow: (path: string) => ask<FlowPage>("GET", flow(path)),
  runs: (query: URLSearchParams) => ask<{ runs: ListedRun[]; next?: string }>("GET", "/runs?" + query),
  questions: () => ask<{ questions: Question[] }>("GET", "/questions"),
  /** page is a run without what record tells of it. */
  page: (id: string) => ask<RunPage>("GET", run(id) + "/page?brief=true&short=true"),
  run: (id: string) => ask<Result>("GET", run(id) + "?short=true"),
  why: (id: string, step: number) => ask<{ decisions: Decision[] }>("GET", `${run(id)}/why?step=${step}`),
  tail: (id: string) => ask<{ said: Said[]; cut?: number }>("GET", `${run(id)}/logs?last=400000`),
  logs: (id: string, node: string) => ask<{ said: Said[] }>("GET", `${run(id)}/logs?last=400000&node=${encodeURIComponent(node)}`),
  conversation: (id: string, node: string) => ask<{ conversation: Spoken[] }>("GET", `${run(id)}/conversation?node=${encodeURIComponent(node)}`),
  start: (body: object) => ask<Result>("POST", "/runs", body),
  answer: (id: string, target: string, value: unknown) => ask<Result>("POST", run(id) + "/answers", { answers: [{ target, value }], by: "the page" }),
  pause: (id: string) => ask("POST", run(id) + "/pause", {}),
  cancel: (id: string) => ask("POST", run(id) + "/cancel", {}),
  resume: (id: string, body = {}) => ask<Result>("POST", run(id) + "/resume", body),
  fork: (id: string, body: object) => ask<Result>("POST", run(id) + "/fork", body),
  remove: (id: string) => ask("DELETE", run(id)),
};

/** Piece is some of what is recorded of a run. */
export interface Piece { events?: RunEvent[]; decisions?: Decision[]; said?: Said[]; conversation?: Spoken[]; said_cut?: number; last_event?: number }

/** record tells in pieces what is recorded of a run, and lets the page be used between
 * them. It ends with the number of the last event. */
export async function record(id: string, tell: (p: Piece) => void, signal: AbortSignal): Promise<number> {
  const answer = await fetch("/api/v1" + run(id) + "/record?short=true", { credentials: "same-origin", signal });
  if (!answer.ok || !answer.body) throw new Problem(answer.status, answer.statusText, []);
  const text = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", last = -1;
  for (;;) {
    const { value, done } = await text.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      const piece = JSON.parse(line) as Piece;
      last = piece.last_event ?? last;
      tell(piece);
    }
    if (lines.length) await new Promise((go) => setTimeout(go)); // what was clicked comes first
  }
  if (last < 0) throw new Error("the record is not whole");
  return last;
}

/** watch tells of the events of a run after one, over lost connections too, until it is
 * stopped or the run has ended. lost says whether the connection is gone. */
export function watch(id: string, after: number, tell: (e: RunEvent) => void, lost: (gone: boolean) => void): () => void {
  let source: EventSource | null = null, timer = 0, stopped = false;
  const open = () => {
    source = new EventSource(`/api/v1${run(id)}/events?short=true&after=${after}`);
    source.onopen = () => lost(false);
    source.onmessage = (m) => {
      const e = JSON.parse(m.data) as RunEvent;
      if (e.seq <= after) return;
      after = e.seq;
      tell(e);
      if (e.event === "run_finished" && e.status !== "paused") stop();
    };
    source.onerror = () => {
      if (stopped || source?.readyState !== EventSource.CLOSED) return lost(!stopped);
      // The browser has given up: the run has ended, or the server does not know us.
      api.run(id).then(
        (r) => (r.status === "running" || r.status === "paused" ? again() : stop()),
        () => { lost(true); again(); },
      );
    };
  };
  const again = () => { if (!stopped) timer = setTimeout(open, 1000) as unknown as number; };
  const stop = () => {
    stopped = true;
    clearTimeout(timer);
    source?.close();
    lost(false);
  };
  open();
  return stop;
}

/** every calls something now and then while the page is looked at: less often what takes
 * the server long, so that looking on costs it a tenth of its time at most. */
export function every(ms: number, call: () => Promise<unknown>): () => void {
  let timer = 0, over = false;
  const next = async () => {
    const began = performance.now();
    if (document.visibilityState === "visible") await call().catch(() => 0);
    if (!over) timer = setTimeout(next, Math.max(ms, Math.min(20 * ms, 9 * (performance.now() - began)))) as unknown as number;
  };
  void next();
  return () => { over = true; clearTimeout(timer); };
}

/** shell quotes a word for a shell where that is needed. */
export function shell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", `'\\''`) + "'";
}

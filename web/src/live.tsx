// The page as a server serves it: views by address, and runs as they happen.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, every, Problem, record, watch, type FlowPage, type RunPage, type ServerInfo } from "./api";
import { App } from "./app";
import { Compare } from "./compare";
import type { Result, RunEvent } from "./data";
import { Controls, ForkPanel, Questions, StartPanel } from "./doing";
import { LiveLogs } from "./logs";
import { follow, parts } from "./route";
import { Runs } from "./runs";
import { Trace } from "./trace";

export function Live() {
  const [at, setAt] = useState(location.pathname);
  const [server, setServer] = useState<ServerInfo | null>(null);
  useEffect(() => {
    const changed = () => setAt(location.pathname);
    addEventListener("popstate", changed);
    addEventListener("click", follow);
    const stop = every(10_000, async () => setServer(await api.server()));
    return () => { removeEventListener("popstate", changed); removeEventListener("click", follow); stop(); };
  }, []);
  const [view, ...rest] = parts(at);
  const readOnly = server?.read_only ?? false;
  return (
    <>
      {view === "run" ? <Run key={at} id={rest[0]} readOnly={readOnly} />
        : view === "flow" ? <FlowOf key={at} path={rest.join("/")} readOnly={readOnly} />
        : view === "compare" ? <Compare key={at} a={rest[0]} b={rest[1]} />
        : <><Home server={server} /><Runs server={server} /></>}
    </>
  );
}

function Home({ server }: { server: ServerInfo | null }) {
  return (
    <header>
      <span class="logo" aria-hidden="true"><svg viewBox="0 0 24 24" width="22" height="22"><path d="M6 6h6a4 4 0 0 1 4 4v4M6 6v8a4 4 0 0 0 4 4h2" /><circle cx="6" cy="6" r="3" /><circle cx="16" cy="17" r="3.500" /></svg></span>
      <h1>graphrun</h1>
      {server && <span class="meta">{server.dir}</span>}
      {server && <span class="meta">{server.store}</span>}
      {server?.read_only && <span class="pill paused">read only</span>}
    </header>
  );
}

/** Missing is what stands where a view can't be shown. */
export function Missing({ text }: { text: string }) {
  return (
    <>
      <Home server={null} />
      <main class="list"><section class="card"><p class="empty">{text}</p><p class="empty"><a href="/">All runs and flows</a></p></section></main>
    </>
  );
}

function FlowOf({ path, readOnly }: { path: string; readOnly: boolean }) {
  const [page, setPage] = useState<FlowPage | null>(null);
  const [wrong, setWrong] = useState("");
  const seen = useRef("");
  useEffect(() => every(1500, async () => {
    try {
      const got = await api.flow(path);
      const text = JSON.stringify(got);
      if (text === seen.current) return;
      seen.current = text;
      setPage({ ...got, run: null });
      setWrong("");
      document.title = `${got.flow.name} · graphrun`;
    } catch (e) {
      setWrong(e instanceof Problem && e.status === 404 ? `There is no flow ${path} below the folder that is served.` : `The flow can't be read: ${(e as Error).message}. Trying again.`);
    }
  }), [path]);
  if (!page) return wrong ? <Missing text={wrong} /> : <Waiting />;
  return (
    <App data={page} live={{
      banner: wrong, key: seen.current,
      tabs: [["start", "Start", () => <StartPanel flow={page.flow} path={page.path} valid={page.valid} readOnly={readOnly} />]],
    }} />
  );
}

function Waiting() {
  return <main class="list" aria-busy="true"><p class="empty">…</p></main>;
}

function Run({ id, readOnly }: { id: string; readOnly: boolean }) {
  const [loaded, setLoaded] = useState<[RunPage, number] | null>(null);
  const [wrong, setWrong] = useState("");
  const [tries, setTries] = useState(0);
  useEffect(() => {
    let over = false;
    const told = (e: Error) => e instanceof Problem && e.status === 404 ? e.message : `The run can't be read: ${e.message}. Trying again.`;
    api.page(id).then((got) => { if (!over) { setLoaded([got, tries]); setWrong(""); } }, (e) => {
      if (over) return;
      setWrong(told(e));
      if (!(e instanceof Problem && e.status < 500)) setTimeout(() => over || setTries(tries + 1), 1000);
    });
    return () => { over = true; };
  }, [id, tries]);
  if (!loaded) return wrong ? <Missing text={wrong} /> : <Waiting />;
  const [page, round] = loaded;
  // A record that did not come whole is read anew.
  return <Watched key={`${page.run!.result.run_id} ${round}`} page={page} readOnly={readOnly} broken={wrong} onBroken={() => { setWrong(gone); setTimeout(() => setTries(tries + 1), 1000); }} />;
}

const gone = "The server does not answer. When it is back, the page goes on where it was; if it has printed a new link, open that.";

// Watched is a run with what happens to it.
function Watched({ page, readOnly, broken, onBroken }: { page: RunPage; readOnly: boolean; broken: string; onBroken: () => void }) {
  const trace = useMemo(() => new Trace(page), [page]);
  const [result, setResult] = useState(page.run!.result);
  const [version, setVersion] = useState(0);
  const [lost, setLost] = useState(false);
  const [round, setRound] = useState(0); // of watching: a run that has ended may be taken up
  const last = useRef(-1); // the last event that has come; below 0: the record is not read
  const [read, setRead] = useState(false);
  const [shown, setShown] = useState(false); // a short record is there at once: nothing jumps
  const id = result.run_id;
  useEffect(() => { document.title = `${page.flow.name} · ${id} · graphrun`; }, [id]);
  const fresh = () => api.run(id).then((r) => { trace.stands(r); setResult(r); setVersion((v) => v + 1); }, () => 0);
  useEffect(() => {
    if (last.current >= 0) return;
    const ended = new AbortController();
    let drawn = 0, pause = 0;
    const late = setTimeout(() => setShown(true), 150);
    const draw = () => {
      const began = drawn = performance.now();
      setVersion((v) => v + 1);
      requestAnimationFrame(() => { pause = 3 * (performance.now() - began); });
    };
    record(id, (p) => {
      trace.recorded(p);
      if (performance.now() - drawn > pause) draw();
    }, ended.signal).then((n) => {
      last.current = n;
      setRead(true);
      setShown(true);
      draw();
      if (page.run!.result.status === "running") void fresh();
    }).catch(() => { if (!ended.signal.aborted) onBroken(); });
    return () => { ended.abort(); clearTimeout(late); };
  }, [trace]);
  useEffect(() => {
    if (!read) return;
    let batch: RunEvent[] = [], timer = 0, asked = 0, pause = 60, over = false;
    const ask = async () => {
      asked = 0;
      const got = await api.run(id).catch(() => null);
      if (got && !over) {
        trace.stands(got);
        setResult(got);
        setVersion((v) => v + 1);
      }
    };
    const show = () => {
      timer = 0;
      const began = performance.now();
      trace.push(batch);
      const ended = batch.some((e) => ["run_finished", "run_paused", "run_resumed"].includes(e.event) || (e.event === "node_event" && e.type === "question"));
      batch = [];
      setVersion((v) => v + 1);
      // What is drawn often is drawn in a third of the time at most.
      requestAnimationFrame(() => { pause = Math.min(1000, Math.max(60, 2 * (performance.now() - began))); });
      if (ended) { clearTimeout(asked); void ask(); }
      else asked ||= setTimeout(ask, 700) as unknown as number;
    };
    const stop = watch(id, last.current, (e) => {
      last.current = e.seq;
      batch.push(e);
      timer ||= setTimeout(show, batch.length === 1 ? Math.min(pause, 16 + pause / 4) : pause) as unknown as number;
    }, setLost);
    return () => {
      over = true;
      stop();
      clearTimeout(timer);
      clearTimeout(asked);
      if (batch.length) trace.push(batch); // who watches on begins after them
    };
  }, [trace, round, read]);
  const busy = result.status === "running";
  useEffect(() => {
    if (!busy) return;
    const timer = setInterval(() => { trace.tick(Date.now()); setVersion((v) => v + 1); }, 1000);
    return () => clearInterval(timer);
  }, [busy, trace]);
  const done = () => { void fresh(); setRound((n) => n + 1); };
  const asks = result.pending.length > 0 ? <Questions result={result} readOnly={readOnly} onDone={done} /> : null;
  const data = useMemo(() => ({ ...page, run: { ...trace.run, result } }), [page, result]);
  if (!shown) return <Waiting />;
  return (
    <App data={data} live={{
      trace, version, statuses: statusesOf(result),
      banner: lost ? gone : broken,
      controls: <Controls page={data as RunPage} result={result} readOnly={readOnly} onDone={done} />,
      asks, key: String(version), logs: <LiveLogs id={id} busy={busy} />,
      more: async (step) => {
        const got = await api.why(id, step);
        trace.explain(got.decisions);
        setVersion((v) => v + 1);
      },
      said: async (node) => {
        const [logs, talk] = await Promise.all([api.logs(id, node), api.conversation(id, node)]);
        trace.heard(node, logs.said);
        trace.spoke(node, talk.conversation);
        setVersion((v) => v + 1);
      },
      tabs: [["fork", "Fork", (moment) => <ForkPanel key={moment!.step} page={data as RunPage} moment={moment!} readOnly={readOnly} />]],
      parent: page.parent ? { id: page.parent, step: page.parent_step ?? 0 } : null,
      flow: page.path,
    }} />
  );
}

// statusesOf is how nodes stand that are at work or wait, by path.
function statusesOf(r: Result): Map<string, string> {
  const out = new Map<string, string>();
  const path = (node: string) => node.replace(/\[\d+\]/g, "");
  for (const n of r.running ?? []) out.set(path(n.node), n.doing === "asking" ? "waiting" : r.status === "crashed" ? "failed" : "running");
  for (const q of r.pending) out.set(path(q.node), "waiting");
  for (const n of r.paused_at?.phase === "before" ? r.paused_at.nodes : []) out.set(n, "waiting");
  if (r.error?.node) out.set(path(r.error.node), "failed");
  return out;
}

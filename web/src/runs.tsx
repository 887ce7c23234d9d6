// The runs of the store, the flows that are served, and what waits for a person.

import { useEffect, useState } from "preact/hooks";
import { api, every, type ListedFlow, type ListedRun, type Question, type ServerInfo } from "./api";
import { useDoing, Wrong } from "./doing";
import { clock, count, duration, exact } from "./text";

const statuses = ["running", "paused", "completed", "failed", "stuck", "limit", "cancelled", "crashed"];

export const runLink = (id: string) => `/run/${encodeURIComponent(id)}`;
export const compareLink = (a: string, b: string) => `/compare/${encodeURIComponent(a)}/${encodeURIComponent(b)}`;
export const flowLink = (path: string) => `/flow/${path.split("/").map(encodeURIComponent).join("/")}`;

export function Runs({ server }: { server: ServerInfo | null }) {
  const [flows, setFlows] = useState<ListedFlow[] | null>(null);
  const [asked, setAsked] = useState<Question[]>([]);
  const [list, setList] = useState<{ runs: ListedRun[]; next?: string } | null>(null);
  const [older, setOlder] = useState<ListedRun[]>([]);
  const [status, setStatus] = useState(() => new URLSearchParams(location.search).get("status") ?? "");
  const [graph, setGraph] = useState(() => new URLSearchParams(location.search).get("graph") ?? "");
  const [text, setText] = useState(() => new URLSearchParams(location.search).get("q") ?? "");
  const [compared, setCompared] = useState(() => (new URLSearchParams(location.search).get("compare") ?? "").split(",").filter(Boolean));
  const [wrong, setWrong] = useState("");
  const doing = useDoing();
  const label = /^[\w.-]+=./.test(text.trim()) ? text.trim() : ""; // which the server looks for
  const query = (cursor?: string) => new URLSearchParams({ ...(status && { status }), ...(graph && { graph }), ...(label && { label }), ...(cursor && { cursor }), limit: "50" });
  useEffect(() => {
    const q = query();
    q.delete("limit");
    q.delete("label");
    if (text) q.set("q", text);
    if (compared.length) q.set("compare", compared.join());
    history.replaceState(null, "", "/" + (q.size ? "?" + q : ""));
  }, [status, graph, text, compared]);
  useEffect(() => {
    setOlder([]);
    return every(1500, async () => {
      try {
        const [runs, questions] = await Promise.all([api.runs(query()), api.questions()]);
        setList(runs);
        setAsked(questions.questions);
        setWrong("");
      } catch (e) {
        setWrong(`The server does not answer: ${(e as Error).message}. Trying again.`);
      }
    });
  }, [status, graph, label]);
  useEffect(() => every(5000, async () => setFlows((await api.flows()).flows)), []);
  useEffect(() => { document.title = "graphrun · runs"; }, []);
  const has = (...parts: (string | null | undefined)[]) => !!label || parts.join(" ").toLowerCase().includes(text.trim().toLowerCase());
  const all = [...(list?.runs ?? []), ...older];
  const runs = all.filter((r) => has(r.run_id, r.graph, r.status, r.quality, r.reason, ...Object.entries(r.labels ?? {}).map(([k, v]) => `${k}=${v}`)));
  const shown = flows?.filter((f) => has(f.name, f.path, f.description));
  const [next, setNext] = useState<string | undefined>();
  useEffect(() => setNext(older.length ? next : list?.next), [list]);
  return (
    <main class={"list" + (asked.length ? " asked" : "")}>
      <section class="card flows" aria-label="Flows">
        <h2>Flows</h2>
        {flows?.length === 0 && <p class="empty">There is no flow below {server?.dir ?? "the folder"}. <code>graphrun init</code> makes one.</p>}
        <ul>
          {shown?.map((f) => (
            <li key={f.path}>
              <a href={flowLink(f.path)}><strong>{f.name || f.path}</strong></a>
              {f.errors > 0 ? <span class="pill failed">{count(f.errors, "error")}</span> : <a class="button" href={flowLink(f.path) + "#tab=start"} aria-label={`Start ${f.name || f.path}`}>Start</a>}
              <p class="hint">{f.description || f.path}</p>
              {f.triggers?.map((t, i) => <p key={i} class="hint">{t.webhook ? <>by deliveries to <code>{t.webhook}</code></> : <span title={`${t.next ? exact(t.next) + ", " : ""}${t.cron} (${t.timezone})`}>next at {t.next ? clock(t.next) : "no time"}</span>}</p>)}
            </li>
          ))}
        </ul>
      </section>
      <section class="card" aria-label="Runs">
        {asked.length > 0 && (
          <div class="waits">
            <h2>{count(asked.length, "question")} for you</h2>
            <ul>{asked.slice(0, 20).map((q) => <li key={q.run + q.target}><a href={runLink(q.run) + "#tab=run"}>{q.graph}: {q.target}</a> <span class="hint">{q.prompt.slice(0, 140)}</span></li>)}</ul>
          </div>
        )}
        <div class="filters">
          <h2>Runs</h2>
          <input type="search" placeholder="Search, or label=value" aria-label="Search flows and runs" value={text} onInput={(e) => setText(e.currentTarget.value)} />
          <select aria-label="Status" value={status} onChange={(e) => setStatus(e.currentTarget.value)}>
            <option value="">All statuses</option>
            {statuses.map((s) => <option key={s} value={s}>{s}</option>)}
          </select>
          <select aria-label="Graph" value={graph} onChange={(e) => setGraph(e.currentTarget.value)}>
            <option value="">All graphs</option>
            {[...new Set([...(flows ?? []).map((f) => f.name), ...all.map((r) => r.graph), graph])].filter(Boolean).sort().map((g) => <option key={g} value={g}>{g}</option>)}
          </select>
        </div>
        <Wrong text={wrong} />
        {compared.length > 0 && (
          <p class="comparing" role="status">
            {compared.length === 1 ? <>Choose another run to compare {compared[0]} with.</> : <a class="button" href={compareLink(compared[0], compared[1])}>Compare {compared[0]} with {compared[1]}</a>}
            <button onClick={() => setCompared([])}>Clear</button>
          </p>
        )}
        {list && runs.length === 0 && <p class="empty">{status || graph || text ? "No run is like that. Clear the search, and choose all statuses and all graphs." : "Nothing has run yet. Start a flow here, or with graphrun run."}</p>}
        {runs.length > 0 && (
          <div class="scroll" tabIndex={0} role="group" aria-label="List of runs">
            <table class="runs">
              <thead><tr><th>Run</th><th>Graph</th><th>Status</th><th>Steps</th><th>Started</th><th>Took</th><th>Notes</th></tr></thead>
              <tbody>
                {runs.map((r) => (
                  <tr key={r.run_id}>
                    <td>
                      <input type="checkbox" aria-label={`Compare ${r.run_id}`} checked={compared.includes(r.run_id)}
                        onChange={(e) => setCompared((c) => (e.currentTarget.checked ? [...c, r.run_id].slice(-2) : c.filter((id) => id !== r.run_id)))} />
                      <a href={runLink(r.run_id)}>{r.run_id}</a>
                    </td>
                    <td>{r.graph}</td>
                    <td><span class={"pill " + (r.quality === "degraded" ? "degraded" : r.status)}>{r.status}</span>{r.quality === "degraded" && <span class="hint"> degraded</span>}{r.unreadable && <span class="hint" title={r.unreadable}> unreadable</span>}{r.reason && !["end", "human", r.status].includes(r.reason) && <span class="hint"> {r.reason.replaceAll("_", " ")}</span>}</td>
                    <td class="right">{r.steps.toLocaleString("en")}<span class="narrow"> {r.steps === 1 ? "step" : "steps"}</span></td>
                    <td title={exact(r.started_at)}>{clock(r.started_at)}</td>
                    <td>{duration(Math.max(0, (r.status === "running" ? Date.now() : Date.parse(r.updated_at)) - Date.parse(r.started_at)))}</td>
                    <td class="hint">{[r.parent && `fork of ${r.parent} at ${r.parent_step}`, ...Object.entries(r.labels ?? {}).filter(([k]) => k !== "request").map(([k, v]) => `${k}=${v}`)].filter(Boolean).join(" ")}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        {next && <p><button disabled={doing.busy} onClick={() => doing.does(async () => {
          const more = await api.runs(query(next));
          setOlder((o) => [...o, ...more.runs]);
          setNext(more.next);
        })}>Older runs</button></p>}
        <Wrong text={doing.wrong} />
      </section>
    </main>
  );
}

// Two runs beside each other: where their paths part.

import { useEffect, useState } from "preact/hooks";
import { api } from "./api";
import type { Result } from "./data";
import { Missing } from "./live";
import { runLink } from "./runs";
import { count } from "./text";
import { Value } from "./value";

/** Row is a step of one path or of both. */
interface Row { a: number | null; b: number | null }

/** align pairs the steps of two paths: as many as there are in both, in order. */
export function align(a: string[], b: string[]): Row[] {
  let from = 0, ends = 0;
  while (from < a.length && from < b.length && a[from] === b[from]) from++;
  while (ends < a.length - from && ends < b.length - from && a[a.length - 1 - ends] === b[b.length - 1 - ends]) ends++;
  const rows: Row[] = Array.from({ length: from }, (_, i) => ({ a: i, b: i }));
  const n = a.length - from - ends, m = b.length - from - ends;
  if (n * m > 4_000_000) { // too long to be compared step by step
    for (let i = 0; i < Math.max(n, m); i++) rows.push({ a: i < n ? from + i : null, b: i < m ? from + i : null });
  } else {
    const best = Array.from({ length: n + 1 }, () => new Uint32Array(m + 1));
    for (let i = n - 1; i >= 0; i--) for (let j = m - 1; j >= 0; j--) best[i][j] = a[from + i] === b[from + j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
    let i = 0, j = 0;
    while (i < n || j < m) {
      if (i < n && j < m && a[from + i] === b[from + j]) rows.push({ a: from + i++, b: from + j++ });
      else if (j >= m || (i < n && best[i + 1][j] >= best[i][j + 1])) rows.push({ a: from + i++, b: null });
      else rows.push({ a: null, b: from + j++ });
    }
  }
  for (let k = 0; k < ends; k++) rows.push({ a: a.length - ends + k, b: b.length - ends + k });
  return rows;
}

// Key is what a state has for a key.
function Key({ state, name }: { state: Record<string, unknown>; name: string }) {
  return name in state ? <Value value={state[name]} /> : <span class="hint">not there</span>;
}

export function Compare({ a, b }: { a: string; b: string }) {
  const [runs, setRuns] = useState<[Result, Result] | null>(null);
  const [wrong, setWrong] = useState("");
  const [all, setAll] = useState(false);
  useEffect(() => {
    document.title = `${a} and ${b} · graphrun`;
    Promise.all([api.run(a), api.run(b)]).then(setRuns, (e) => setWrong((e as Error).message));
  }, [a, b]);
  if (wrong) return <Missing text={wrong} />;
  if (!runs) return <main class="list" aria-busy="true"><p class="empty">…</p></main>;
  const rows = align(runs[0].path, runs[1].path);
  const apart = rows.filter((r) => r.a === null || r.b === null).length;
  const shown = all ? rows : rows.slice(0, 500);
  const keys = [...new Set([...Object.keys(runs[0].state), ...Object.keys(runs[1].state)])].filter((k) => JSON.stringify(runs[0].state[k]) !== JSON.stringify(runs[1].state[k]));
  const cell = (r: Result, i: number | null) => i === null ? <td class="none" /> : <td><a href={`${runLink(r.run_id)}#tab=step&step=${i + 1}`}><span class="number">{i + 1}</span> {r.path[i]}</a></td>;
  return (
    <>
      <header>
        <a class="meta" href="/">All runs</a>
        <h1>Two runs of {runs[0].graph === runs[1].graph ? runs[0].graph : `${runs[0].graph} and ${runs[1].graph}`}</h1>
        <span class="meta">{apart ? `${count(apart, "step")} of one run only` : "the same path"}</span>
      </header>
      <main class="list">
        <section class="card" aria-label="State">
          <h2>What came out differently</h2>
          {keys.length === 0 ? <p class="hint">The states are the same.</p> : (
            <dl class="diff">{keys.map((k) => <div key={k}><dt>{k}</dt><dd class="old"><span class="sign">1</span><Key state={runs[0].state} name={k} /></dd><dd class="new"><span class="sign">2</span><Key state={runs[1].state} name={k} /></dd></div>)}</dl>
          )}
        </section>
        <section class="card" aria-label="Paths">
          <div class="scroll" tabIndex={0} role="group" aria-label="The paths side by side">
            <table class="paths">
              <thead><tr>{runs.map((r, i) => <th key={i}>{i + 1}: <a href={runLink(r.run_id)}>{r.run_id}</a> <span class={"pill " + r.status}>{r.status}</span></th>)}</tr></thead>
              <tbody>{shown.map((r, i) => <tr key={i} class={r.a === null || r.b === null ? "apart" : ""}>{cell(runs[0], r.a)}{cell(runs[1], r.b)}</tr>)}</tbody>
            </table>
          </div>
          {shown.length < rows.length && <p><button onClick={() => setAll(true)}>Show all {rows.length.toLocaleString("en")} rows</button></p>}
        </section>
      </main>
    </>
  );
}

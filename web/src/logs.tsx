// What the programs and models of a run said: all of it, by node and stream, with search.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { api } from "./api";
import type { Said } from "./data";

const MOST = 5000; // lines that are shown

/** LiveLogs asks for what was said as long as it is shown and the run goes on. */
export function LiveLogs({ id, busy }: { id: string; busy: boolean }) {
  const [said, setSaid] = useState<Said[]>([]);
  const [cut, setCut] = useState(0);
  useEffect(() => {
    let over = false, timer = 0;
    const ask = async () => {
      try {
        const got = await api.tail(id);
        if (over) return;
        setSaid(got.said);
        setCut(got.cut ?? 0);
      } catch { /* the next try may do */ }
      if (!over && busy) timer = setTimeout(ask, 1000) as unknown as number;
    };
    void ask();
    return () => { over = true; clearTimeout(timer); };
  }, [id, busy]);
  return <Logs said={said} cut={cut} busy={busy} />;
}

interface Line { node: string; stream: string; text: string }

/** Logs shows lines that match a text, of the chosen node and streams. It stays at the end
 * while the reader is there. */
export function Logs({ said, cut, busy }: { said: Said[]; cut: number; busy: boolean }) {
  const [text, setText] = useState("");
  const [node, setNode] = useState("");
  const [hidden, setHidden] = useState<string[]>([]);
  const box = useRef<HTMLPreElement>(null);
  const end = useRef(true);
  const lines = useMemo(() => linesOf(said), [said]);
  const nodes = useMemo(() => [...new Set(lines.map((l) => l.node))], [lines]);
  const streams = useMemo(() => [...new Set(lines.map((l) => l.stream))], [lines]);
  const wanted = text.toLowerCase();
  const found = lines.filter((l) => (!node || l.node === node) && !hidden.includes(l.stream) && (!wanted || l.text.toLowerCase().includes(wanted)));
  const shown = found.slice(-MOST);
  useLayoutEffect(() => {
    if (end.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [shown.length, said]);
  return (
    <div class="logs">
      <div class="filters">
        <input type="search" placeholder="Search the output" aria-label="Search the output" value={text} onInput={(e) => setText(e.currentTarget.value)} />
        <select aria-label="Node" value={node} onChange={(e) => setNode(e.currentTarget.value)}>
          <option value="">All nodes</option>
          {nodes.map((n) => <option key={n} value={n}>{n}</option>)}
        </select>
        {streams.map((s) => (
          <label key={s} class="switch"><input type="checkbox" checked={!hidden.includes(s)} onChange={() => setHidden(hidden.includes(s) ? hidden.filter((h) => h !== s) : [...hidden, s])} /> {s}</label>
        ))}
      </div>
      {(cut > 0 || found.length > shown.length) && <p class="hint">Only the latest output is shown. <code>graphrun logs</code> prints all of it.</p>}
      {lines.length === 0 && <p class="hint">{busy ? "Nothing was said yet." : "Nothing was said."}</p>}
      <pre class="said whole" ref={box} tabIndex={0} role="log" aria-live="off" onScroll={(e) => { const b = e.currentTarget; end.current = b.scrollTop + b.clientHeight > b.scrollHeight - 24; }}>
        {shown.map((l, i) => <span key={i} class={l.stream}>{i === 0 || shown[i - 1].node !== l.node ? <b>{l.node}{"\n"}</b> : null}{l.text}{"\n"}</span>)}
      </pre>
    </div>
  );
}

// linesOf splits what was said into lines; pieces of one node and stream may share one.
function linesOf(said: Said[]): Line[] {
  const out: Line[] = [];
  const open = new Map<string, Line>();
  for (const s of said) {
    const node = s.place + (s.visit > 1 ? ` #${s.visit}` : "") + (s.source ? ` [${s.source}]` : "");
    const key = `${node} ${s.attempt} ${s.stream}`;
    const parts = s.text.split("\n");
    parts.forEach((text, i) => {
      const line = i === 0 ? open.get(key) : undefined;
      if (line) line.text += text;
      else if (text || i < parts.length - 1) {
        const own = { node, stream: s.stream, text };
        out.push(own);
        open.set(key, own);
      }
      if (i < parts.length - 1) open.delete(key);
    });
  }
  return out;
}

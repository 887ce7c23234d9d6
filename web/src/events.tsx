// The events of a run: a list of which only what is in sight is drawn.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { RunEvent } from "./data";
import { duration, exact, line } from "./text";
import { plainPath } from "./trace";
import { Value } from "./value";

const ROW = 30;

export function Events({ events, version, start, onSelect }: { events: RunEvent[]; version: number; start: number; onSelect: (path: string) => void }) {
  const [type, setType] = useState("");
  const [query, setQuery] = useState("");
  const [top, setTop] = useState(0);
  const [chosen, setChosen] = useState<RunEvent | null>(null);
  const host = useRef<HTMLDivElement>(null);
  const types = useMemo(() => [...new Set(events.map((e) => e.event))].sort(), [events, events.length]);
  const shown = useMemo(() => {
    const q = query.trim().toLowerCase();
    return events.filter((e) => (!type || e.event === type) && (!q || textOf(e).includes(q)));
  }, [events, events.length, version, type, query]);
  const [high, setHigh] = useState(480);
  useEffect(() => {
    const o = new ResizeObserver(() => host.current && setHigh(host.current.clientHeight));
    o.observe(host.current!);
    return () => o.disconnect();
  }, []);
  const from = Math.max(0, Math.floor(top / ROW) - 6), to = Math.min(shown.length, Math.ceil((top + high) / ROW) + 6);
  const move = (e: KeyboardEvent) => {
    if (e.key === "Enter" && chosen?.node) return onSelect(plainPath(chosen.node));
    const page = Math.max(1, Math.floor(high / ROW) - 1);
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[e.key];
    if (!by) return;
    e.preventDefault();
    const i = Math.max(0, Math.min(shown.length - 1, (chosen ? shown.indexOf(chosen) : -1) + by));
    setChosen(shown[i] ?? null);
    const el = host.current!;
    if (i * ROW < el.scrollTop) el.scrollTop = i * ROW;
    if ((i + 1) * ROW > el.scrollTop + el.clientHeight) el.scrollTop = (i + 1) * ROW - el.clientHeight;
  };
  return (
    <div class="events">
      <div class="filters">
        <select aria-label="Kind of event" value={type} onChange={(e) => setType(e.currentTarget.value)}>
          <option value="">all events</option>
          {types.map((t) => <option key={t} value={t}>{t}</option>)}
        </select>
        <input type="search" placeholder="Filter by text" aria-label="Filter events by text" value={query} onInput={(e) => setQuery(e.currentTarget.value)} />
        <span class="hint" role="status">{shown.length.toLocaleString("en")} of {events.length.toLocaleString("en")}</span>
      </div>
      <div class="rows" ref={host} tabIndex={0} role="listbox" aria-label="Events" aria-activedescendant={chosen ? `event-${chosen.seq}` : undefined}
        onScroll={(e) => setTop(e.currentTarget.scrollTop)} onKeyDown={move}>
        <div class="before" ref={(el) => { if (el) el.style.height = `${from * ROW}px`; }} />
        {shown.slice(from, to).map((e) => (
          <div key={e.seq} id={`event-${e.seq}`} role="option" aria-selected={chosen === e} class={`row ${e.event}${e.error ? " bad" : ""}`}
            onClick={() => { setChosen(chosen === e ? null : e); if (e.node) onSelect(plainPath(e.node)); }}>
            <span class="seq">{e.seq}</span>
            <span class="when" title={exact(e.time)}>+{duration(Math.max(0, Date.parse(e.time) - start))}</span>
            <span class="type">{e.event}</span>
            <span class="what">{summary(e)}</span>
          </div>
        ))}
        <div ref={(el) => { if (el) el.style.height = `${(shown.length - to) * ROW}px`; }} />
        {shown.length === 0 && <p class="empty">No event is like that. Clear the filter to see all.</p>}
      </div>
      {chosen && <div class="chosen" tabIndex={0} role="group" aria-label="The event"><Value value={chosen} /></div>}
    </div>
  );
}

const texts = new WeakMap<RunEvent, string>();

// textOf is what an event is searched by; who types asks for it at each letter.
function textOf(e: RunEvent): string {
  let text = texts.get(e);
  if (text === undefined) texts.set(e, (text = JSON.stringify(e).toLowerCase()));
  return text;
}

function summary(e: RunEvent): string {
  const node = e.node ? e.node + ((e.visit ?? 1) > 1 ? ` #${e.visit}` : "") : "";
  switch (e.event) {
    case "edges_resolved": return `${node} → ${e.next?.join(", ") || "nowhere"}`;
    case "state_updated": return (node ? node + ": " : "") + line(e.delta, 100);
    case "node_completed": return `${node}${e.cached ? " (cached)" : ""} ${line(e.output ?? null, 80)}`;
    case "node_failed": case "node_retrying": return `${node} ${e.error?.kind}: ${line(e.error?.message, 80)}`;
    case "branches_started": return `${node} → ${e.next?.join(", ") ?? ""}`;
    case "branches_joined": return `${e.from?.join(", ") ?? ""} → ${node}`;
    case "node_event": return `${node} ${e.type ?? ""} ${line(e.message ?? e.data ?? "", 80)}`;
    case "run_started": return line(e.input, 100);
  }
  return node;
}

// When each node ran: a row for each branch, with attempts, the waits between them, and the
// calls of models and tools in them.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { duration } from "./text";
import { plainPath, type Execution, type Trace } from "./trace";

const LANE = 24;
const LEAST = 3; // pixels of a bar
const MANY = 300; // executions, from which on those too short to be seen are drawn together

const GUTTER = 92; // pixels of the names of branches

interface Bar { x: Execution; from: number; to: number; lane: number; many: number; free: number; gap: number }

// Row is a branch: its lanes hold what ran at once in it, such as the steps of subgraphs.
interface Row { name: string; lane: number; lanes: number }

export function Timeline({ trace, version, step, selected, onStep, onSelect }: {
  trace: Trace; version: number; step: number; selected: string | null; onStep: (n: number) => void; onSelect: (path: string) => void;
}) {
  const host = useRef<HTMLDivElement>(null);
  const [wide, setWide] = useState(800);
  const quick = trace.length < 40;
  const [byStep, setByStep] = useState(quick);
  useEffect(() => {
    const o = new ResizeObserver(() => host.current && setWide(host.current.clientWidth));
    o.observe(host.current!);
    return () => o.disconnect();
  }, []);
  const branches = useMemo(() => branchesOf(trace), [trace, version]);
  const gutter = branches.length > 1 ? Math.min(GUTTER, wide / 4) : 0;
  const room = Math.max(80, wide - 24 - gutter);
  const { bars, rows, lanes, scale, ticks } = useMemo(() => lay(trace, room, byStep, branches), [trace, version, room, byStep, branches]);
  const here = trace.steps[step - 1];
  const asked = new Set(trace.run.result.pending.map((q) => q.node));
  const now = byStep ? scale(step) : here ? scale(here.end ?? trace.length) : 0;
  return (
    <div class="timeline">
      <div class="bar-head">
        <h2>Timeline</h2>
        <label class="switch"><input type="checkbox" checked={byStep} onChange={(e) => setByStep(e.currentTarget.checked)} /> one width per step</label>
      </div>
      <div class="lanes" ref={host} tabIndex={0} role="group" aria-label={`Timeline of ${trace.executions.length} executions over ${duration(trace.length)}`}>
        <svg width={room + gutter} height={lanes * LANE + 22}>
          {gutter > 0 && rows.map((r) => (
            <g key={r.name} class="row" transform={`translate(0 ${r.lane * LANE})`}>
              <title>{r.name ? `the branch that began at ${r.name}` : "outside of branches"}</title>
              <line x2={room + gutter} y1="0" y2="0" />
              <text x="0" y="17">{short(r.name || "main", gutter - 8)}</text>
            </g>
          ))}
          <g transform={`translate(${gutter} 0)`}>
          {ticks.map((t) => (
            <g key={t.at} class="tick" transform={`translate(${t.at} 0)`}>
              <line y1="0" y2={lanes * LANE + 4} />
              <text x={t.at > room - 30 ? 0 : 3} y={lanes * LANE + 17} text-anchor={t.at > room - 30 ? "end" : "start"}>{t.text}</text>
            </g>
          ))}
          {bars.map((b) => {
            const w = Math.max(LEAST, b.to - b.from);
            const path = plainPath(b.x.node);
            const name = b.x.node.split("/").at(-1)! + (b.x.visit > 1 ? ` #${b.x.visit}` : "");
            return (
              <g key={b.x.index} class={`bar kind-${b.x.kind} ${b.x.end === null && asked.has(b.x.node) ? "waiting" : b.x.outcome} ${selected === path ? "selected" : ""} ${b.x.step === step && step ? "here" : ""} ${b.x.step > step ? "later" : ""}`}
                transform={`translate(${b.from} ${b.lane * LANE + 3})`} onClick={() => (b.x.step ? onStep(b.x.step) : 0, onSelect(path))}>
                <title>{b.many > 1 ? `${b.many} executions from ${b.x.node} on` : `${b.x.node}${b.x.visit > 1 ? " #" + b.x.visit : ""}: ${b.x.end === null && asked.has(b.x.node) ? "waits for an answer" : b.x.outcome}, ${duration((b.x.end ?? trace.length) - b.x.start)}${b.x.attempts.length > 1 ? `, ${b.x.attempts.length} attempts` : ""}`}</title>
                <rect class="body" width={w} height={LANE - 6} rx={Math.min(4, w / 2)} />
                {!byStep && b.x.attempts.length > 1 && b.x.attempts.slice(0, -1).map((a, i) => {
                  const from = scale(a.end ?? a.start) - b.from, to = scale(b.x.attempts[i + 1].start) - b.from;
                  return <rect key={i} class="gap" x={from} width={Math.max(1, to - from)} height={LANE - 6} />;
                })}
                {!byStep && callsOf(b.x, trace).map((c, i) => (
                  <rect key={"c" + i} class={"call " + c.kind} x={Math.min(scale(c.from) - b.from, w - 4)} y={LANE - 12} width={Math.max(4, scale(c.to) - scale(c.from))} height={4} rx={2}><title>{c.text}</title></rect>
                ))}
                {name.length * 6.4 + 10 >= w && b.free > name.length * 6.4 + 8 ? <text class="beside" x={w + 4} y="13">{name}</text>
                  : name.length * 6.4 + 10 >= w && b.free === room - b.to && b.gap > name.length * 6.4 + 8 ? <text class="beside" x="-4" y="13" text-anchor="end">{name}</text> : w > 28 && <text x="6" y="13">{short(name, w - 10)}</text>}
              </g>
            );
          })}
          <line class="now" x1={now} x2={now} y1="0" y2={lanes * LANE + 4} />
          </g>
        </svg>
      </div>
    </div>
  );
}

interface Call { kind: "model" | "tool"; from: number; to: number; text: string }

// callsOf are the calls of models and tools in an execution. How long one took is not
// known of a run that an older version recorded.
function callsOf(x: Execution, trace: Trace): Call[] {
  return x.events.filter((e) => e.event === "llm_usage" || e.event === "tool_called").map((e) => {
    const to = Date.parse(e.time) - trace.start, took = Number(e.duration_ms ?? 0);
    if (e.event === "tool_called") return { kind: "tool", from: to - took, to, text: `tool ${e.tool}, ${duration(took)}` };
    const tokens = `${Number(e.input_tokens ?? 0)} tokens in, ${Number(e.output_tokens ?? 0)} out`;
    const after = e.duration_ms === undefined ? "" : ` after ${duration(took)}`;
    return { kind: "model", from: to - took, to, text: `${e.model} answered${e.role ? ` as ${e.role}` : ""}${after}: ${tokens}${e.cost_usd ? `, $${Number(e.cost_usd).toFixed(4)}` : ""}` };
  });
}

const short = (name: string, wide: number) => (name.length * 6.4 <= wide ? name : name.slice(0, Math.max(1, Math.floor((wide - 6) / 6.4))) + "…");

// branchesOf lists the branches in the order in which they began, the run itself first.
function branchesOf(trace: Trace): string[] {
  const out = new Set<string>();
  for (const x of [...trace.executions].sort((a, b) => a.start - b.start || a.index - b.index)) if (!x.node.includes("/")) out.add(x.branch);
  return [...out].sort((a, b) => Number(a !== "") - Number(b !== ""));
}

function lay(trace: Trace, room: number, byStep: boolean, branches: string[]) {
  // What has not ended has no step yet: it comes after all that have.
  const open = byStep ? trace.executions.filter((x) => x.end === null && !x.node.includes("/") && !x.finally) : [];
  const span = byStep ? Math.max(1, trace.steps.length + (open.length ? 1 : 0)) : trace.length;
  const scale = (t: number) => Math.max(0, Math.min(room, (t / span) * room));
  const bars: Bar[] = [];
  const list = byStep ? [...trace.steps.filter(Boolean), ...open] : [...trace.executions].sort((a, b) => a.start - b.start || a.index - b.index);
  // The steps of a subgraph stand in the row of the node that runs it.
  const rowOf = new Map<string, string>();
  for (const x of trace.executions) if (!x.node.includes("/")) rowOf.set(x.node.replace(/\[\d+\]/g, ""), x.branch);
  const last = new Map<string, Bar[]>(branches.map((b) => [b, []]));
  for (const x of list) {
    const row = x.node.includes("/") ? rowOf.get(x.node.split("/")[0].replace(/\[\d+\]/g, "")) ?? "" : x.branch;
    const lastInLane = last.get(row) ?? last.get(branches[0])!;
    const ends = lastInLane.map((b) => b.to);
    const place = x.end === null ? trace.steps.length + 1 : x.step;
    const from = byStep ? scale(place - 1) + 1 : scale(x.start);
    const to = byStep ? scale(place) - 1 : scale(x.end ?? trace.length);
    // An inner execution is below the one around it, which has not ended.
    const least = x.node.split("/").length - 1;
    let lane = Math.min(least, ends.length);
    while (lane < ends.length && ends[lane] > from + 0.5 && !(x.start >= (lastInLane[lane].x.end ?? Infinity))) lane++;
    const before = lastInLane[lane];
    // Bars too small to be told apart are one.
    if (before && to - from < 1 && from - before.to < 1 && before.to - before.from < 40 && list.length > MANY) {
      before.to = Math.max(before.to, to);
      before.many++;
      continue;
    }
    const start = before && ends[lane] > from ? Math.min(ends[lane], room - LEAST) : from;
    const bar: Bar = { x, from: start, to: Math.max(to, start + LEAST), lane, many: 1, free: room, gap: start - (before?.to ?? 0) };
    if (before) before.free = bar.from - before.to;
    lastInLane[lane] = bar;
    bars.push(bar);
  }
  const rows: Row[] = [];
  const first = new Map<Bar[], number>();
  let lanes = 0;
  for (const [name, own] of last) {
    rows.push({ name, lane: lanes, lanes: Math.max(1, own.length) });
    first.set(own, lanes);
    lanes += Math.max(1, own.length);
  }
  for (const b of bars) {
    const row = b.x.node.includes("/") ? rowOf.get(b.x.node.split("/")[0].replace(/\[\d+\]/g, "")) ?? "" : b.x.branch;
    b.lane += first.get(last.get(row) ?? last.get(branches[0])!)!;
    b.free = Math.min(b.free, room - b.to);
  }
  const ticks: { at: number; text: string }[] = [];
  const every = nice(span / Math.max(2, room / 110), byStep);
  for (let t = 0; t <= span + every / 1e6; t += every) ticks.push({ at: scale(t), text: byStep ? `${t}` : t === 0 ? "0" : duration(t) });
  return { bars, rows, lanes: Math.max(1, lanes), scale, ticks };
}

// nice is a round number that is not less.
function nice(n: number, whole: boolean): number {
  const p = 10 ** Math.floor(Math.log10(n || 1));
  const out = [1, 2, 5, 10].map((f) => f * p).find((f) => f >= n) ?? 10 * p;
  return whole ? Math.max(1, Math.round(out)) : out;
}

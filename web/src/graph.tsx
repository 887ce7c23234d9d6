// The graph: boxes and arrows that can be moved, brought nearer, searched and
// chosen, with a run painted on them.

import { memo } from "preact/compat";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Drawing } from "./data";
import { Icon } from "./icons";
import { arrange, short, cut, HEAD, type Arrow, type Box, type Layout } from "./layout";
import { usePan, type View } from "./pan";
import { typing } from "./text";
import type { Moment, NodeMark } from "./trace";

export interface GraphProps {
  drawing: Drawing;
  notes: (path: string) => string;
  last: (path: string) => boolean; // of finally
  moment: Moment | null; // null: no run is painted
  plain: Map<string, string> | null; // statuses of a painted drawing without a run (coverage)
  selected: string | null;
  onSelect: (path: string | null) => void;
  onFinding: (path: string) => void;
  findings: Map<string, string>; // worst severity by path
}

const MINIMAP = 24; // nodes from which a map helps
const TOOLS = 300; // pixels that the tools cover, from the right

export function GraphView(p: GraphProps) {
  const [open, setOpen] = useState<Set<string>>(new Set());
  const [query, setQuery] = useState("");
  const layout = useMemo(() => arrange(p.drawing, open, p.notes, p.last, !!p.moment), [p.drawing, open, !p.moment]);
  const host = useRef<HTMLDivElement>(null);
  const scene = useRef<SVGGElement>(null);
  const port = useRef<SVGRectElement>(null);
  const view = useRef<View>({ x: 0, y: 0, k: 1 });
  const boxes = useMemo(() => flat(layout), [layout]);
  const found = useMemo(() => {
    const q = query.trim().toLowerCase();
    return q ? boxes.filter((b) => b.node && (b.path.toLowerCase().includes(q) || b.node.kind === q || b.node.description.toLowerCase().includes(q))) : [];
  }, [query, boxes]);
  const [hit, setHit] = useState(0);

  const apply = (v: View) => {
    view.current = v;
    // From afar only what colours say can be read.
    scene.current?.classList.toggle("far", v.k < 0.3);
    scene.current?.setAttribute("transform", `translate(${v.x} ${v.y}) scale(${v.k})`);
    const r = host.current?.getBoundingClientRect();
    if (r && port.current) {
      port.current.setAttribute("x", String(-v.x / v.k));
      port.current.setAttribute("y", String(-v.y / v.k));
      port.current.setAttribute("width", String(r.width / v.k));
      port.current.setAttribute("height", String(r.height / v.k));
    }
  };
  const fitted = useRef("");
  const fit = () => {
    const r = host.current!.getBoundingClientRect();
    fitted.current = `${r.width} ${r.height}`;
    // Text must stay legible: what does not fit then is moved to, or found on the map.
    const narrow = r.width < 560;
    const least = narrow ? 0.72 : Math.min(0.62, r.width / layout.w);
    const k = Math.max(Math.min(1.15, (r.width - 24) / layout.w, (r.height - (narrow ? 52 : 24)) / layout.h), least, 0.08);
    const x = layout.w * k > r.width ? startX(layout, k, r.width) : (r.width - layout.w * k) / 2;
    const begin = x + (layout.boxes[0].x + layout.boxes[0].w) * k;
    const top = narrow || begin > r.width - TOOLS ? 48 : 8;
    apply({ k, x, y: Math.max(top, (r.height - layout.h * k) / 2) });
  };
  const whole = () => {
    const r = host.current!.getBoundingClientRect();
    const k = Math.min(1.15, (r.width - 24) / layout.w, (r.height - 24) / layout.h);
    apply({ k, x: (r.width - layout.w * k) / 2, y: (r.height - layout.h * k) / 2 });
  };
  const zoom = (by: number, cx?: number, cy?: number) => {
    const r = host.current!.getBoundingClientRect();
    const v = view.current;
    const k = Math.min(3, Math.max(0.05, v.k * by));
    const x = cx ?? r.width / 2, y = cy ?? r.height / 2;
    apply({ k, x: x - ((x - v.x) / v.k) * k, y: y - ((y - v.y) / v.k) * k });
  };
  /** reveal moves a box into sight. */
  const reveal = (path: string, center = false) => {
    const b = boxes.find((b) => b.path === path);
    if (!b || !host.current) return;
    const r = host.current.getBoundingClientRect();
    const v = view.current;
    const x = b.x * v.k + v.x, y = b.y * v.k + v.y, w = b.w * v.k, h = b.h * v.k;
    const m = 24;
    if (!center && x >= m && y >= m && x + w <= r.width - m && y + h <= r.height - m) return;
    const k = Math.max(v.k, 0.6);
    // What is near comes in by as little as needed.
    const dx = Math.max(0, m - x) - Math.max(0, x + w - r.width + m), dy = Math.max(0, m + (r.width < 560 ? 24 : 0) - y) - Math.max(0, y + h - r.height + m);
    if (!center && k === v.k && Math.abs(dx) < r.width / 2 && Math.abs(dy) < r.height / 2) return apply({ k, x: v.x + dx, y: v.y + dy });
    // No more beside the graph than there has to be.
    const end = r.height - layout.h * k - 16, top = r.width < 560 ? 40 : 8;
    const mid = r.height / 2 - (b.y + b.h / 2) * k;
    apply({ k, x: r.width / 2 - (b.x + b.w / 2) * k, y: end < top ? Math.min(top, Math.max(end, mid)) : mid });
  };

  useLayoutEffect(fit, [layout]);
  useEffect(() => {
    const observer = new ResizeObserver(() => apply(view.current));
    const sized = new ResizeObserver(() => {
      const r = host.current?.getBoundingClientRect();
      if (r && fitted.current !== `${r.width} ${r.height}`) fit();
    });
    observer.observe(host.current!);
    sized.observe(host.current!);
    return () => (observer.disconnect(), sized.disconnect());
  }, [layout]);
  useEffect(() => { if (p.selected) reveal(p.selected); }, [p.selected, layout]);
  const here = p.moment?.here, before = useRef<number | undefined>(undefined); // none: the first is where the run stands
  useEffect(() => {
    if (here && (before.current !== p.moment?.step || p.moment?.current.size)) reveal(here);
    before.current = p.moment?.step;
  }, [p.moment]);
  useEffect(() => { setHit(0); if (found[0]) reveal(found[0].path, view.current.k < 0.5); }, [found]);
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if (typing(e) || e.ctrlKey || e.metaKey || e.altKey) return;
      if (e.key === "/") { e.preventDefault(); host.current?.querySelector<HTMLInputElement>("input")?.focus(); }
      if (e.key === "+" || e.key === "=") zoom(1.25);
      if (e.key === "-") zoom(0.8);
      if (e.key === "0") fit();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, [layout]);

  usePan(host, view, apply, zoom, () => p.onSelect(null));

  const toggle = (path: string) => setOpen((old) => {
    const next = new Set(old);
    if (!next.delete(path)) next.add(path);
    return next;
  });
  const onKey = (e: KeyboardEvent, b: Box) => {
    if (e.key === "Enter" || e.key === " ") {
      e.preventDefault();
      p.onSelect(b.path);
    } else if (e.key.startsWith("Arrow")) {
      const next = neighbour(boxes, b, e.key);
      if (next) { e.preventDefault(); p.onSelect(next.path); focus(next.path); }
    } else if (e.key === "e" && b.node && has(p.drawing, b.path)) toggle(b.path);
    else if (e.key === "Escape") p.onSelect(null);
  };
  const focus = (path: string) => requestAnimationFrame(() =>
    host.current?.querySelector<SVGGElement>(`[data-path="${CSS.escape(path)}"]`)?.focus({ preventScroll: true }));
  const search = (e: KeyboardEvent) => {
    if (e.key === "Escape") { setQuery(""); (e.target as HTMLInputElement).blur(); }
    if (e.key !== "Enter" || !found.length) return;
    const i = p.selected === found[hit]?.path ? (hit + 1) % found.length : hit;
    setHit(i);
    p.onSelect(found[i].path);
    reveal(found[i].path, true);
  };
  const first = boxes.find((b) => b.node);
  const tabbable = p.selected && boxes.some((b) => b.path === p.selected) ? p.selected : first?.path;
  return (
    <div class="graph" ref={host}>
      <svg class="canvas" role="group" aria-label={`Graph ${p.drawing.graph}: ${p.drawing.nodes.length} nodes. Arrow keys go from node to node.`}>
        <defs>
          {["", "strong", "failure", "model", "goto", "faint", "missed"].map((c) => (
            <marker key={c} id={"head" + c} class={"head " + c} viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto-start-reverse">
              <path d="M0 1L10 5L0 9z" />
            </marker>
          ))}
        </defs>
        <g ref={scene}>
          <Scene layout={layout} drawing={p.drawing} prefix="" {...{ notes: p.notes, moment: p.moment, plain: p.plain, findings: p.findings, selected: p.selected, tabbable }}
            found={query ? new Set(found.map((b) => b.path)) : null} onFinding={p.onFinding} onSelect={p.onSelect} onKey={onKey} onToggle={toggle} />
        </g>
      </svg>
      <div class="tools">
        <label class="search">
          <Icon name="search" size={14} />
          <input type="search" placeholder="Find a node  /" aria-label="Find a node" value={query} onInput={(e) => setQuery(e.currentTarget.value)} onKeyDown={search} />
          {query && <span class="hits" role="status">{found.length ? `${Math.min(hit + 1, found.length)}/${found.length}` : "none"}</span>}
        </label>
        <button onClick={() => zoom(1.25)} title="Zoom in (+)" aria-label="Zoom in"><Icon name="plus" /></button>
        <button onClick={() => zoom(0.8)} title="Zoom out (-)" aria-label="Zoom out"><Icon name="minus" /></button>
        <button onClick={whole} title="Fit" aria-label="Fit the graph"><Icon name="fit" /></button>
      </div>
      {boxes.length >= MINIMAP && <Minimap layout={layout} moment={p.moment} port={port} onMove={(x, y) => {
        const r = host.current!.getBoundingClientRect();
        const v = view.current;
        apply({ k: v.k, x: r.width / 2 - x * v.k, y: r.height / 2 - y * v.k });
      }} />}
    </div>
  );
}

// startX keeps the start in sight where a graph is wider than its place.
function startX(layout: Layout, k: number, width: number): number {
  const b = layout.boxes[0];
  const x = width / 2 - (b.x + b.w / 2) * k;
  return Math.min(12, Math.max(x, width - layout.w * k - 12));
}

/** has says whether a node runs a graph that is known. */
export function has(d: Drawing, path: string): boolean {
  let at: Drawing | undefined = d;
  for (const id of path.split("/")) at = at?.subgraphs[id];
  return !!at;
}

// flat lists the boxes of a layout and of what is open in it, in the places they
// have on the whole.
function flat(layout: Layout, x = 0, y = 0): Box[] {
  const out: Box[] = [];
  for (const b of layout.boxes) {
    const at = { ...b, x: b.x + x, y: b.y + y };
    out.push(at);
    if (b.open) out.push(...flat(b.open, at.x + (b.w - b.open.w) / 2, at.y + HEAD));
  }
  return out;
}

// neighbour is the nearest box in a direction.
function neighbour(boxes: Box[], from: Box, key: string): Box | undefined {
  const here = boxes.find((b) => b.path === from.path) ?? from;
  const cx = here.x + here.w / 2, cy = here.y + Math.min(here.h, 48) / 2;
  let best: Box | undefined, least = Infinity;
  for (const b of boxes) {
    if (!b.node || b.path === here.path) continue;
    const dx = b.x + b.w / 2 - cx, dy = b.y + Math.min(b.h, 48) / 2 - cy;
    const [along, across] = { ArrowUp: [-dy, dx], ArrowDown: [dy, dx], ArrowLeft: [-dx, dy], ArrowRight: [dx, dy] }[key] ?? [0, 0];
    if (along <= 4) continue;
    const far = along + 2.5 * Math.abs(across);
    if (far < least) [best, least] = [b, far];
  }
  return best;
}

interface SceneProps {
  layout: Layout;
  drawing: Drawing;
  prefix: string;
  notes: (path: string) => string;
  moment: Moment | null;
  plain: Map<string, string> | null;
  findings: Map<string, string>;
  selected: string | null;
  tabbable: string | undefined;
  found: Set<string> | null;
  onFinding: (path: string) => void;
  onSelect: (path: string) => void;
  onKey: (e: KeyboardEvent, b: Box) => void;
  onToggle: (path: string) => void;
}

const Scene = memo(function Scene(p: SceneProps) {
  return (
    <>
      {p.layout.arrows.map((a) => <ArrowShape key={a.key} arrow={a} fired={fired(a, p)} painted={!!p.moment} missed={p.plain ? a.edge?.fired === 0 : false}
        near={!!p.selected && !!a.edge && (p.prefix + a.from === p.selected || p.prefix + a.to === p.selected)} />)}
      {p.layout.boxes.map((b) => (
        <BoxShape key={b.path} {...p} box={b} />
      ))}
    </>
  );
});

function fired(a: Arrow, p: SceneProps): number {
  if (!p.moment) return 0;
  const graph = p.prefix.slice(0, -1);
  if (!a.edge) return p.moment.nodes.has(p.prefix + a.to) || p.moment.current.has(p.prefix + a.to) ? 1 : 0;
  if (a.edge.index >= 0) return p.moment.edges.get(`${graph}#${a.edge.index}`) ?? 0;
  if (a.edge.condition === "finally") return p.moment.nodes.has(p.prefix + a.to) ? 1 : 0;
  return p.moment.edges.get(`${graph}#${a.edge.from}>${a.edge.to}`) ?? 0;
}

function ArrowShape({ arrow: a, fired, painted, missed, near }: { arrow: Arrow; fired: number; painted: boolean; missed: boolean; near: boolean }) {
  const e = a.edge;
  const kind = !e ? "" : e.condition === "on_failure" ? "failure" : e.condition === "llm_decide" ? "model" : e.condition === "goto" ? "goto" : "";
  const state = painted ? (fired ? "strong" : "faint") : missed ? "missed" : "";
  const head = state === "faint" || state === "missed" ? state : kind || state;
  const dashed = a.fallback || e?.condition === "finally" ? " dashed" : e?.condition === "goto" ? " dotted" : "";
  return (
    <g class={`arrow ${kind} ${state}${dashed}${near ? " near" : ""}`}>
      {e && <title>{`${e.from} → ${e.to}: ${e.when ?? e.condition}${e.label ? ` (${e.label})` : ""}${painted ? `, fired ${fired}×` : ""}`}</title>}
      <path d={a.path} marker-end={`url(#head${head})`} />
      {a.label.length > 0 && (
        <g class="label" transform={`translate(${a.lx - a.cw / 2} ${a.ly})`}>
          <rect x={-a.lw / 2} y={-(a.label.length * 14 + 4) / 2} width={a.lw} height={a.label.length * 14 + 4} rx="4" />
          {a.label.map((l, i) => <text key={i} text-anchor="middle" y={(i - (a.label.length - 1) / 2) * 14 + 4}>{l}</text>)}
        </g>
      )}
      {fired > 1 && <Count n={fired} at={a} />}
    </g>
  );
}

function Count({ n, at }: { n: number; at: Arrow }) {
  const text = short(n), w = 14 + (text.length + 1) * 6.5;
  return (
    <g class="count" transform={`translate(${at.lx + (at.lw + at.cw) / 2 - w} ${at.ly - 9})`}>
      <rect width={w} height="18" rx="9" />
      <text x={w / 2} y="13" text-anchor="middle">×{text}</text>
    </g>
  );
}

const words: Record<string, string> = { completed: "done", failed: "failed", waiting: "waiting", running: "running", cancelled: "cancelled" };

function BoxShape(p: SceneProps & { box: Box }) {
  const b = p.box;
  if (b.role === "start") return <circle class="mark" cx={b.x + 8} cy={b.y + 8} r="7"><title>start</title></circle>;
  if (b.role === "end") {
    const reached = !p.moment || p.layout.arrows.some((a) => a.edge?.to === "END" && fired(a, p) > 0);
    return (
      <g class={"mark" + (reached ? "" : " faint")} transform={`translate(${b.x} ${b.y})`}>
        <rect width={b.w} height={b.h} rx="13" />
        <text x={b.w / 2} y="17" text-anchor="middle">END</text>
      </g>
    );
  }
  const n = b.node!;
  const mark: NodeMark | undefined = p.moment?.nodes.get(b.path);
  const current = p.moment?.current.has(b.path), next = p.moment?.next.has(b.path);
  const status = p.moment ? (mark?.status ?? "untouched") : (p.plain?.get(b.path) ?? "");
  const runs = !!p.drawing.subgraphs[n.id];
  const finding = p.findings.get(b.path);
  const detail = [n.kind, p.notes(b.path)].filter(Boolean).join(" · ");
  const said = [
    `${b.path}, ${n.kind}`, p.moment ? (words[status] ?? "not reached") : status, mark && mark.visits > 1 ? `${mark.visits} visits` : "", mark?.failed ? `${mark.failed} failed` : "",
    finding ? `has ${finding}s` : "", b.open ? "open" : "",
  ].filter(Boolean).join(", ");
  const badges = mark ? [status === "cancelled" ? status : "", mark.cached ? "cached" : "", mark.visits > 1 ? `×${short(mark.visits)}` : "", mark.elements ? `${mark.elements.done}/${mark.elements.total}` : ""].filter(Boolean) : [];
  return (
    <g class={`box kind-${n.kind} ${status} ${current ? "current" : ""} ${next ? "next" : ""} ${p.selected === b.path ? "selected" : ""} ${p.found ? (p.found.has(b.path) ? "found" : "other") : ""} ${mark?.failed ? "unwell" : ""}`}
      transform={`translate(${b.x} ${b.y})`}>
      <title>{n.description || said}</title>
      <g role="button" tabindex={p.tabbable === b.path ? 0 : -1} aria-label={said} aria-pressed={p.selected === b.path} data-path={b.path}
        onClick={() => p.onSelect(b.path)} onDblClick={() => runs && p.onToggle(b.path)} onKeyDown={(e) => p.onKey(e, b)}>
        {current && <rect class="halo" x="-5" y="-5" width={b.w + 10} height={b.h + 10} rx="13" />}
        <rect class="body" width={b.w} height={b.h} rx="9" />
      </g>
      {runs && !b.open && <rect class="inset" x="3" y="3" width={b.w - 6} height={b.h - 6} rx="7" />}
      <g class="glyph"><rect x="8" y={b.open ? 6 : 12} width="24" height="24" rx="6" /><Icon name={n.kind} x={12} y={b.open ? 10 : 16} /></g>
      <text aria-hidden="true" class="name" x="40" y={b.open ? 22 : 21}>{cut(n.id, 30)}</text>
      {!b.open && <text aria-hidden="true" class="detail" x="40" y="37">{cut(detail, 38)}</text>}
      {b.open && <g transform={`translate(${(b.w - b.open.w) / 2} ${HEAD})`}>
        <Scene {...p} layout={b.open} drawing={p.drawing.subgraphs[n.id]} prefix={b.path + "/"} />
      </g>}
      {runs && (
        <g class="toggle" role="button" tabindex={-1} aria-label={`${b.open ? "Close" : "Open"} the graph of ${n.id}`} aria-keyshortcuts="e" transform={`translate(${b.w - 26} ${b.open ? 7 : 14})`} onClick={() => p.onToggle(b.path)}>
          <rect width="20" height="20" rx="5" /><Icon name={b.open ? "minus" : "plus"} x={3} y={3} size={14} />
        </g>
      )}
      {finding && <circle class={"finding " + finding} cx="2" cy="2" r="6" onClick={() => p.onFinding(b.path)}><title>{`has ${finding}s: to their lines`}</title></circle>}
      {p.moment && words[status] && status !== "cancelled" && <g class={"badge " + status} transform={`translate(${b.w - 10} -8)`}><circle cx="8" cy="8" r="9" /><Icon name={status === "completed" ? "done" : status} x={2.5} y={2.500} size={11} /></g>}
      {badges.length > 0 && <Tag text={badges.join(" · ")} />}
    </g>
  );
}

function Tag({ text }: { text: string }) {
  const w = text.length * 6.6 + 14;
  return <g class="tag" transform="translate(10 -13)"><rect width={w} height="18" rx="9" /><text x={w / 2} y="13" text-anchor="middle">{text}</text></g>;
}

function Minimap({ layout, moment, port, onMove }: { layout: Layout; moment: Moment | null; port: { current: SVGRectElement | null }; onMove: (x: number, y: number) => void }) {
  const k = Math.min(170 / layout.w, 130 / layout.h);
  // A graph that is a long chain would be a line: it is drawn wider than it is.
  const w = Math.max(44, layout.w * k), h = Math.max(30, layout.h * k);
  const go = (e: PointerEvent) => {
    if (e.type === "pointermove" && !e.buttons) return;
    const r = (e.currentTarget as SVGSVGElement).getBoundingClientRect();
    onMove(((e.clientX - r.left) / w) * layout.w, ((e.clientY - r.top) / h) * layout.h);
  };
  return (
    <svg class="minimap" width={w} height={h} preserveAspectRatio="none" viewBox={`0 0 ${layout.w} ${layout.h}`} onPointerDown={go} onPointerMove={go} aria-hidden="true">
      {layout.boxes.map((b) => <rect key={b.path} class={moment?.current.has(b.path) ? "here" : (moment?.nodes.get(b.path)?.status ?? "")} x={b.x} y={b.y} width={b.w} height={b.h} rx="8" />)}
      <rect ref={port} class="port" />
    </svg>
  );
}

// Where the boxes and arrows of a drawing stand. A subgraph that is open is laid out
// first, and takes the place of its box.

import { curve, place, type Item, type Link } from "./layers";
import type { Drawing, DrawnEdge, DrawnNode } from "./data";

export interface Box {
  path: string;
  node: DrawnNode | null; // null: the mark of the start or the end
  role: "node" | "start" | "end";
  x: number; // of the upper left corner
  y: number;
  w: number;
  h: number;
  open: Layout | null;
}

export interface Arrow {
  key: string;
  edge: DrawnEdge | null; // null: from the mark of the start
  from: string;
  to: string;
  fallback: boolean;
  path: string;
  label: string[];
  lx: number;
  ly: number;
  lw: number;
  cw: number; // width of the count
}

export interface Layout {
  w: number;
  h: number;
  boxes: Box[];
  arrows: Arrow[];
}

const START = "(start)";
const END = "(end)";
export const HEAD = 34; // height of the head of an open subgraph
const PAD = 14;

let context: CanvasRenderingContext2D | null = null;

/** width is how wide a text is, in pixels. */
export function width(text: string, font: string): number {
  context ??= document.createElement("canvas").getContext("2d")!;
  context.font = font;
  return context.measureText(text).width;
}

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
export const TITLE = `600 13px ${FONT}`;
export const SMALL = `11px ${FONT}`;

/** cut shortens a text to a number of characters. */
export const cut = (text: string, most: number) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

/** short is a count in four characters at most. */
export const short = (n: number) => (n < 1000 ? String(n) : n < 10_000 ? `${(Math.floor(n / 100) / 10).toFixed(1).replace(".0", "")}k` : n < 1_000_000 ? `${Math.floor(n / 1000)}k` : `${Math.floor(n / 1_000_000)}M`);

/** arrange lays a drawing out; notes, open and last (in finally) are by the paths of nodes.
 * Where a run is shown, edges that may fire several times have room for how often. */
export function arrange(d: Drawing, open: Set<string>, notes: (path: string) => string, last: (path: string) => boolean, run: boolean, prefix = ""): Layout {
  const boxes: Box[] = [], placeOf = new Map<string, number>();
  const add = (box: Box, id: string) => placeOf.set(id, boxes.push(box) - 1);
  add({ path: prefix + START, node: null, role: "start", x: 0, y: 0, w: 16, h: 16, open: null }, START);
  for (const node of d.nodes) {
    const path = prefix + node.id;
    const inner = d.subgraphs[node.id];
    const opened = inner && open.has(path) ? arrange(inner, open, notes, last, run, path + "/") : null;
    const name = width(cut(node.id, 30), TITLE);
    const line = width(cut(node.kind + (notes(path) ? " · " + notes(path) : ""), 38), SMALL);
    const w = Math.round(Math.max(112, 44 + Math.max(name, line) + (inner ? 26 : 12), opened ? opened.w + 2 * PAD : 0));
    add({ path, node, role: "node", x: 0, y: 0, w, h: opened ? opened.h + HEAD + PAD : 48, open: opened }, node.id);
  }
  if (d.edges.some((e) => e.to === "END")) add({ path: prefix + END, node: null, role: "end", x: 0, y: 0, w: 52, h: 26, open: null }, END);
  const chooses = new Set(d.edges.filter((e) => e.when || e.condition === "llm_decide").map((e) => `${e.from} ${e.condition === "on_failure"}`));
  const drawn: Arrow[] = [{ key: prefix + "#start", edge: null, from: START, to: d.start, fallback: false, path: "", label: [], lx: 0, ly: 0, lw: 0, cw: 0 }];
  for (const [i, e] of d.edges.entries()) {
    const fallback = !e.when && e.condition !== "llm_decide" && e.condition !== "goto" && chooses.has(`${e.from} ${e.condition === "on_failure"}`);
    drawn.push({
      key: `${prefix}#${i}`, edge: e, from: e.from, to: e.to === "END" ? END : e.to, fallback, path: "", label: label(e, fallback), lx: 0, ly: 0, lw: 0, cw: 0,
    });
  }
  // An edge of a broken file may name what is not there: a finding says so.
  const arrows = drawn.filter((a) => placeOf.has(a.from) && placeOf.has(a.to));
  const at = (id: string) => placeOf.get(id)!;
  const turns = run ? cycles(d) : () => false;
  const links: Link[] = arrows.map((a) => {
    a.lw = a.label.length ? Math.max(...a.label.map((l) => width(l, SMALL))) + 12 : 0;
    // Beside the label stands how often it fired.
    a.cw = a.edge && ((a.edge.fired ?? 0) > 1 || prefix && run || turns(a.edge)) ? 16 + 4 * 7 : 0;
    return { from: at(a.from), to: at(a.to), w: a.lw + a.cw, h: a.label.length ? a.label.length * 14 + 4 : a.cw ? 18 : 0, weight: weight(a) };
  });
  // What runs when the end is decided stands below it.
  const finallies = new Set(d.edges.filter((e) => e.condition === "finally").flatMap((e) => [e.from, e.to]));
  const head = d.nodes.find((n) => (finallies.has(n.id) || last(prefix + n.id)) && !d.edges.some((e) => e.to === n.id));
  if (head && placeOf.has(END)) links.push({ from: at(END), to: at(head.id), w: 0, h: 0, weight: 1 });
  const placed = place(boxes as Item[], links);
  boxes.forEach((box, i) => {
    box.x = Math.round(placed.centers[i].x - box.w / 2);
    box.y = Math.round(placed.centers[i].y - box.h / 2);
  });
  arrows.forEach((a, i) => {
    a.path = curve(placed.knots[i], a.from === a.to);
    a.lx = placed.labels[i].x;
    a.ly = placed.labels[i].y;
  });
  return { w: placed.w, h: placed.h, boxes, arrows };
}

// cycles tells of an edge whether it can be come to again.
function cycles(d: Drawing): (e: DrawnEdge) => boolean {
  const next = new Map<string, string[]>();
  for (const e of d.edges) next.set(e.from, [...(next.get(e.from) ?? []), e.to]);
  const known = new Map<string, Set<string>>();
  const reached = (from: string) => {
    let seen = known.get(from);
    if (!seen) {
      known.set(from, seen = new Set([from]));
      for (const id of seen) for (const to of next.get(id) ?? []) seen.add(to); // a set is walked with what is added
    }
    return seen;
  };
  return (e) => reached(e.to).has(e.from);
}

// label is what stands beside an arrow, in at most two lines.
function label(e: DrawnEdge, fallback: boolean): string[] {
  let text = e.label ?? e.when ?? "";
  if (!text) {
    if (e.condition === "on_failure") text = "on failure";
    else if (e.condition === "always") text = "always";
    else if (e.condition === "llm_decide") text = "model decides";
    else if (fallback) text = "else";
  }
  if (e.condition === "goto" && text === e.to) text = "";
  text = cut(text.trim().replace(/\s+/g, " "), 54);
  if (text.length <= 24) return text ? [text] : [];
  // Two lines, as alike in length as the words let them be.
  let best = -1;
  for (let i = text.indexOf(" "); i >= 0; i = text.indexOf(" ", i + 1)) {
    if (best < 0 || Math.max(i, text.length - i) < Math.max(best, text.length - best)) best = i;
  }
  return best < 0 ? [cut(text, 30)] : [cut(text.slice(0, best), 30), cut(text.slice(best + 1), 30)];
}

// weight says how straight an arrow wants to be: the way that things go when they
// go well, most of all.
function weight(a: Arrow): number {
  if (!a.edge) return 4;
  switch (a.edge.condition) {
    case "on_failure": return 0.3;
    case "goto": case "llm_decide": return 1;
  }
  return a.edge.when ? 1 : 4;
}

// Layered layout of a directed graph, after Sugiyama, Tagawa and Toda (1981):
// ways back are found, nodes get layers, the order in the layers is improved until
// ways cross little, and then the places are found. Nodes come in the order in which
// they are declared, and ties keep it, so that a small change moves little.

export interface Item { w: number; h: number }

export interface Link { from: number; to: number; w: number; h: number; weight: number } // size of its label; how straight it wants to be

export interface Point { x: number; y: number; soft?: boolean } // soft: passed on a slope

export interface Placed {
  w: number;
  h: number;
  centers: Point[]; // of the items
  knots: Point[][]; // of the links: where they pass, from the item to the item
  labels: Point[]; // centers of the links' labels
}

// A cell is an item, or the place at which a link passes a layer.
interface Cell {
  item: number; // -1: of a link
  link: number;
  w: number;
  h: number;
  right: number; // part of w that is beside the box: loops
  layer: number;
  pos: number;
  x: number;
  up: Cell[];
  down: Cell[];
  pull: Map<Cell, number>; // how strongly neighbours draw it
}

const GAP = 34; // between boxes
const NARROW = 16; // beside links
const BETWEEN = 46; // between layers of boxes
const BESIDE = 20; // above and below labels
export const LOOP = 30; // width of a loop

/** place lays items out; the first is at the top. A link's layer is between its ends. */
export function place(items: Item[], links: Link[]): Placed {
  const back = waysBack(items.length, links);
  const ranks = rank(items.length, links, back);
  const { cells, layers, chains } = cellsOf(items, links, back, ranks);
  order(layers, cells);
  spread(layers);
  return route(items, links, back, cells, layers, chains);
}

// waysBack says which links lead back to an item on the way to them.
function waysBack(n: number, links: Link[]): boolean[] {
  const out: number[][] = Array.from({ length: n }, () => []);
  links.forEach((l, i) => out[l.from].push(i));
  const state = new Uint8Array(n), back = links.map(() => false);
  for (let root = 0; root < n; root++) {
    if (state[root]) continue;
    const stack: [number, number][] = [[root, 0]];
    state[root] = 1;
    while (stack.length) {
      const top = stack.at(-1)!;
      const [v, i] = top;
      if (i === out[v].length) {
        state[v] = 2;
        stack.pop();
        continue;
      }
      top[1]++;
      const l = links[out[v][i]];
      if (l.to === v) continue;
      if (state[l.to] === 1) back[out[v][i]] = true;
      else if (state[l.to] === 0) {
        state[l.to] = 1;
        stack.push([l.to, 0]);
      }
    }
  }
  return back;
}

// rank gives each item the length of the longest way to it, and draws down what
// nothing leads to.
function rank(n: number, links: Link[], back: boolean[]): number[] {
  const down: number[][] = Array.from({ length: n }, () => []);
  const waits = new Array<number>(n).fill(0);
  links.forEach((l, i) => {
    if (l.from === l.to) return;
    const [u, v] = back[i] ? [l.to, l.from] : [l.from, l.to];
    down[u].push(v);
    waits[v]++;
  });
  const roots = waits.map((w) => w === 0);
  const ranks = new Array<number>(n).fill(0), queue: number[] = [];
  for (let v = 0; v < n; v++) if (!waits[v]) queue.push(v);
  for (let i = 0; i < queue.length; i++) {
    for (const v of down[queue[i]]) {
      ranks[v] = Math.max(ranks[v], ranks[queue[i]] + 1);
      if (--waits[v] === 0) queue.push(v);
    }
  }
  for (let v = 1; v < n; v++) if (roots[v] && down[v].length) ranks[v] = Math.min(...down[v].map((w) => ranks[w])) - 1;
  return ranks;
}

function cellsOf(items: Item[], links: Link[], back: boolean[], ranks: number[]) {
  const layers: Cell[][] = [];
  const cell = (item: number, link: number, w: number, h: number, layer: number): Cell => {
    const c = { item, link, w, h, right: 0, layer, pos: 0, x: 0, up: [], down: [], pull: new Map() };
    (layers[layer] ??= []).push(c);
    return c;
  };
  for (let i = 0; i <= 2 * Math.max(...ranks); i++) layers[i] ??= [];
  const cells = items.map((it, i) => cell(i, -1, it.w, it.h, 2 * ranks[i]));
  links.forEach((l) => {
    if (l.from !== l.to) return;
    const c = cells[l.from], more = LOOP + l.w;
    c.w += Math.max(0, more - c.right);
    c.right = Math.max(c.right, more);
  });
  const chains = links.map((l, i) => {
    if (l.from === l.to) return [];
    const [u, v] = back[i] ? [cells[l.to], cells[l.from]] : [cells[l.from], cells[l.to]];
    const chain = [u];
    // The label is beside the item that the link comes from.
    const labelled = back[i] ? v.layer - 1 : u.layer + 1;
    for (let layer = u.layer + 1; layer < v.layer; layer++) chain.push(cell(-1, i, layer === labelled && l.w ? l.w : 2, layer === labelled ? l.h : 0, layer));
    chain.push(v);
    for (let j = 1; j < chain.length; j++) {
      chain[j - 1].down.push(chain[j]);
      chain[j].up.push(chain[j - 1]);
      const [a, b] = [chain[j - 1], chain[j]];
      const pull = (back[i] ? 0.3 : l.weight) * (a.item < 0 && b.item < 0 ? 8 : a.item < 0 || b.item < 0 ? 2 : 1.5);
      a.pull.set(b, (a.pull.get(b) ?? 0) + pull);
      b.pull.set(a, a.pull.get(b)!);
    }
    return chain;
  });
  return { cells, layers, chains };
}

// order finds an order of the layers in which few links cross.
function order(layers: Cell[][], cells: Cell[]) {
  // First as a walk in the order of declaration comes to them.
  const seen = new Set<Cell>(), first: Cell[][] = layers.map(() => []);
  for (const root of cells) {
    const stack = [root];
    while (stack.length) {
      const c = stack.pop()!;
      if (seen.has(c)) continue;
      seen.add(c);
      first[c.layer].push(c);
      for (let i = c.down.length - 1; i >= 0; i--) stack.push(c.down[i]);
    }
  }
  layers.forEach((_, i) => (layers[i] = first[i]));
  number(layers);
  let best = layers.map((l) => [...l]), least = crossings(layers), idle = 0;
  for (let sweep = 0; sweep < 30 && idle < 5 && least > 0; sweep++) {
    const downward = sweep % 2 === 0;
    for (let k = 1; k < layers.length; k++) {
      const layer = layers[downward ? k : layers.length - 1 - k];
      const weight = new Map(layer.map((c) => {
        const near = downward ? c.up : c.down;
        return [c, near.length ? near.reduce((sum, n) => sum + n.pos, 0) / near.length : -1];
      }));
      sortBy(layer, weight);
      layer.forEach((c, i) => (c.pos = i));
    }
    transpose(layers);
    const now = crossings(layers);
    if (now < least) [best, least, idle] = [layers.map((l) => [...l]), now, 0];
    else idle++;
  }
  best.forEach((l, i) => (layers[i] = l));
  number(layers);
}

const number = (layers: Cell[][]) => layers.forEach((l) => l.forEach((c, i) => (c.pos = i)));

// sortBy sorts by weight; what has none (-1) stays where it is.
function sortBy(layer: Cell[], weight: Map<Cell, number>) {
  const movable = layer.filter((c) => weight.get(c)! >= 0).sort((a, b) => weight.get(a)! - weight.get(b)! || a.pos - b.pos);
  let next = 0;
  for (let i = 0; i < layer.length; i++) if (weight.get(layer[i])! >= 0) layer[i] = movable[next++];
}

// transpose exchanges neighbours as long as that helps.
function transpose(layers: Cell[][]) {
  for (let round = 0, better = true; better && round < 8; round++) {
    better = false;
    for (const layer of layers) {
      for (let i = 1; i < layer.length; i++) {
        const a = layer[i - 1], b = layer[i];
        const won = cross(a.up, b.up) + cross(a.down, b.down) - cross(b.up, a.up) - cross(b.down, a.down);
        if (won <= 0) continue;
        layer[i - 1] = b;
        layer[i] = a;
        [a.pos, b.pos] = [i, i - 1];
        better = true;
      }
    }
  }
}

// cross counts how often the links of a cell cross those of one to its right.
function cross(a: Cell[], b: Cell[]): number {
  let n = 0;
  for (const p of a) for (const q of b) if (p.pos > q.pos) n++;
  return n;
}

function crossings(layers: Cell[][]): number {
  let n = 0;
  for (let i = 1; i < layers.length; i++) {
    const size = layers[i].length + 1, tree = new Int32Array(size + 1);
    let sum = 0;
    for (const c of layers[i - 1]) {
      const ends = c.down.map((d) => d.pos);
      for (const e of ends) {
        let before = 0;
        for (let k = e + 1; k > 0; k -= k & -k) before += tree[k];
        n += sum - before;
      }
      for (const e of ends) {
        sum++;
        for (let k = e + 1; k <= size; k += k & -k) tree[k]++;
      }
    }
  }
  return n;
}

// spread finds places in the layers: each cell wants to be where its neighbours
// are, links that pass several layers most of all, and none may overlap another.
function spread(layers: Cell[][]) {
  const apart = (a: Cell, b: Cell) => (a.w + b.w) / 2 + (a.item >= 0 && b.item >= 0 ? GAP : NARROW);
  for (const layer of layers) {
    let x = 0;
    layer.forEach((c, i) => (c.x = x += i ? apart(layer[i - 1], c) : c.w / 2));
  }
  const settle = (layer: Cell[], near: (c: Cell) => Cell[]) => {
    const wanted = layer.map((c) => {
      let sum = 0, weight = 0;
      for (const n of near(c)) {
        const w = c.pull.get(n)!;
        sum += w * (n.x - n.right / 2);
        weight += w;
      }
      return weight ? { at: sum / weight + c.right / 2, weight } : { at: c.x, weight: 0.01 };
    });
    // Least squares under the order: neighbours that want to pass each other
    // become one block (pool adjacent violators).
    const blocks: { sum: number; weight: number; cells: number }[] = [];
    let offset = 0;
    const offsets: number[] = [];
    layer.forEach((c, i) => {
      if (i) offset += apart(layer[i - 1], c);
      offsets.push(offset);
      let b = { sum: (wanted[i].at - offset) * wanted[i].weight, weight: wanted[i].weight, cells: 1 };
      for (let last = blocks.at(-1); last && last.sum / last.weight >= b.sum / b.weight; last = blocks.at(-1)) {
        b = { sum: b.sum + last.sum, weight: b.weight + last.weight, cells: b.cells + last.cells };
        blocks.pop();
      }
      blocks.push(b);
    });
    let i = 0;
    for (const b of blocks) for (let k = 0; k < b.cells; k++, i++) layer[i].x = b.sum / b.weight + offsets[i];
  };
  for (let sweep = 0; sweep < 12; sweep++) {
    for (let k = 1; k < layers.length; k++) settle(layers[k], (c) => c.up);
    for (let k = layers.length - 2; k >= 0; k--) settle(layers[k], (c) => c.down);
  }
  for (let sweep = 0; sweep < 6; sweep++) for (const layer of layers) settle(layer, (c) => [...c.up, ...c.down]);
}

// route says where links pass: straight through layers, and curved only between
// them, so that none comes upon a box.
function route(items: Item[], links: Link[], back: boolean[], cells: Cell[], layers: Cell[][], chains: Cell[][]): Placed {
  let least = Infinity, most = -Infinity;
  for (const l of layers) for (const c of l) [least, most] = [Math.min(least, c.x - c.w / 2), Math.max(most, c.x + c.w / 2)];
  for (const l of layers) for (const c of l) c.x += 14 - least;
  const tops: number[] = [], bottoms: number[] = [];
  let y = 14;
  layers.forEach((layer, i) => {
    const h = layer.reduce((h, c) => Math.max(h, c.h), 0);
    if (i % 2) y += h ? BESIDE : BETWEEN / 2;
    tops[i] = y;
    bottoms[i] = y += h;
    if (i % 2) y += h ? BESIDE : BETWEEN / 2;
  });
  const at = (c: Cell): Point => ({ x: c.x - c.right / 2, y: (tops[c.layer] + bottoms[c.layer]) / 2 });
  const centers = cells.map(at);
  const ports = portsOf(cells, chains, items, links.map((l, i) => (back[i] ? 0 : l.weight)));
  const labels: Point[] = [];
  const knots = links.map((l, i): Point[] => {
    const chain = chains[i];
    if (!chain.length) {
      const c = centers[l.from], x = c.x + items[l.from].w / 2;
      labels[i] = { x: x + LOOP + l.w / 2 - 4, y: c.y };
      return [{ x, y: c.y + 11 }, { x: x + LOOP - 6, y: c.y }, { x, y: c.y - 11 }];
    }
    const [u, v] = [chain[0], chain.at(-1)!];
    const a = { x: ports.get(u)!.down.get(i)!, y: at(u).y + u.h / 2 }, b = { x: ports.get(v)!.up.get(i)!, y: at(v).y - v.h / 2 };
    const direct = chain.slice(1, -1).every((c) => c.layer % 2 && !c.h);
    if (direct && Math.abs(a.x - b.x) < 14) a.x = b.x = (a.x + b.x) / 2;
    const out: Point[] = [a, { x: a.x, y: bottoms[u.layer] }];
    labels[i] = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
    for (const c of chain.slice(1, -1)) {
      if (bottoms[c.layer] - tops[c.layer] < 1) continue;
      if (c.layer % 2) { // here are no boxes, only labels: it passes on a slope
        const p = { x: c.x, y: (tops[c.layer] + bottoms[c.layer]) / 2, soft: true };
        if (c.h) labels[i] = p;
        out.push(p);
        continue;
      }
      out.push({ x: c.x, y: tops[c.layer] }, { x: c.x, y: bottoms[c.layer] });
    }
    out.push({ x: b.x, y: tops[v.layer] }, b);
    const short = out.filter((p, k) => !k || Math.hypot(p.x - out[k - 1].x, p.y - out[k - 1].y) > 0.5);
    return back[i] ? short.reverse() : short;
  });
  return { w: most - least + 28, h: y + 14, centers, knots, labels };
}

// portsOf spreads the ends of links over the boxes, in the order in which they
// come, so that they don't cross at the last moment; the main one is in the middle.
function portsOf(cells: Cell[], chains: Cell[][], items: Item[], weights: number[]) {
  const ends = new Map(cells.map((c) => [c, { up: [] as [number, number][], down: [] as [number, number][] }]));
  chains.forEach((chain, i) => {
    if (!chain.length) return;
    ends.get(chain[0])!.down.push([i, chain[1].x]);
    ends.get(chain.at(-1)!)!.up.push([i, chain.at(-2)!.x]);
  });
  const out = new Map<Cell, { up: Map<number, number>; down: Map<number, number> }>();
  for (const [c, e] of ends) {
    const spreadOut = (list: [number, number][]) => {
      list.sort((a, b) => a[1] - b[1] || a[0] - b[0]);
      const n = list.length - 1, heavy = list.reduce((best, [i], k) => (weights[i] > weights[list[best][0]] ? k : best), 0);
      const middle = n > 0 && list.filter(([i]) => weights[i] === weights[list[heavy][0]]).length === 1 ? heavy : n / 2;
      const step = Math.min(22, (items[c.item].w / 2 - 10) / Math.max(1, middle, n - middle));
      return new Map(list.map(([i], k) => [i, c.x - c.right / 2 + (k - middle) * Math.max(2, step)]));
    };
    out.set(c, { up: spreadOut(e.up), down: spreadOut(e.down) });
  }
  return out;
}

/** curve is the path through knots: straight down, and between columns a curve that
    begins and ends upright. A loop has three knots. */
export function curve(p: Point[], loop: boolean): string {
  const f = (n: number) => Math.round(n * 10) / 10;
  if (loop) return `M${f(p[0].x)} ${f(p[0].y)}C${f(p[1].x + 8)} ${f(p[0].y + 6)} ${f(p[1].x + 8)} ${f(p[2].y - 6)} ${f(p[2].x)} ${f(p[2].y)}`;
  // How far to the side a way goes for each pixel down.
  const slope = (i: number) => {
    if (!p[i].soft) return 0;
    const dy = p[i + 1].y - p[i - 1].y;
    return Math.max(-2.5, Math.min(2.5, (p[i + 1].x - p[i - 1].x) / (Math.abs(dy) < 1 ? 1 : dy)));
  };
  let out = `M${f(p[0].x)} ${f(p[0].y)}`;
  for (let i = 1; i < p.length; i++) {
    const a = p[i - 1], b = p[i], dy = (b.y - a.y) * 0.45;
    out += Math.abs(a.x - b.x) < 0.5 && !a.soft && !b.soft ? `L${f(b.x)} ${f(b.y)}`
      : `C${f(a.x + slope(i - 1) * dy)} ${f(a.y + dy)} ${f(b.x - slope(i) * dy)} ${f(b.y - dy)} ${f(b.x)} ${f(b.y)}`;
  }
  return out;
}

// The elements of an each, and what became of them.

import { useState } from "preact/hooks";
import { Conversation, Output } from "./conversation";
import type { Run } from "./data";
import { count, line } from "./text";
import type { Element, Execution } from "./trace";
import { Value } from "./value";

const MANY = 50;

export function Elements({ x, run }: { x: Execution; run: Run }) {
  const [failed, setFailed] = useState(false);
  const [all, setAll] = useState(false);
  const { done, total, list } = x.elements!;
  const wanted = list.filter((e) => !failed || e.outcome !== "success").sort((a, b) => a.index - b.index);
  const shown = all ? wanted : wanted.slice(0, MANY);
  return (
    <section>
      <h3>Elements</h3>
      <progress max={total} value={done} aria-label={`${done} of ${total} elements are done`} />
      {x.elements!.failed > 0 && <label class="switch"><input type="checkbox" checked={failed} onChange={(e) => setFailed(e.currentTarget.checked)} /> only the {count(x.elements!.failed, "element")} that failed</label>}
      {shown.map((e) => <One key={e.index} e={e} x={x} run={run} />)}
      {shown.length < wanted.length && <button class="link" onClick={() => setAll(true)}>show all {wanted.length.toLocaleString("en")} elements</button>}
    </section>
  );
}

// One is an element; what it gave and said is drawn when it is opened.
function One({ e, x, run }: { e: Element; x: Execution; run: Run }) {
  const [open, setOpen] = useState(false);
  const place = `${x.node}[${e.index}]`;
  const mine = (s: { place: string; visit: number }) => s.place === place && s.visit === x.visit;
  const conversation = open ? (run.conversation ?? []).filter(mine) : [];
  const said = open ? run.said.filter((s) => mine(s) && !(conversation.length && s.stream === "text")) : [];
  const output = Array.isArray(x.output) ? x.output[e.index] : undefined;
  return (
    <details class="tool" open={open} onToggle={(t) => setOpen(t.currentTarget.open)}>
      <summary><span class="number">{e.index}</span> <span class="hint">{line(e.item, 60)}</span>{e.outcome === "success" ? null : <span class="bad"> failed</span>}</summary>
      {open && (
        <>
          <Value name="item" value={e.item} />
          {output !== undefined && output !== null && <Value name="output" value={output} />}
          {conversation.length > 0 && <Conversation list={conversation} />}
          {said.length > 0 && <Output said={said} />}
        </>
      )}
    </details>
  );
}

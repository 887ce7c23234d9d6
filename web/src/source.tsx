// The source of a flow, with what was found at its lines.

import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Finding, Flow } from "./data";

/** Found is a finding that leads to its place. */
export function Found({ f, to, onGo }: { f: Finding; to: string; onGo: () => void }) {
  return (
    <button class={"found " + f.severity} title={to} onClick={(e) => { e.stopPropagation(); onGo(); }}>
      {f.severity}: {f.message} <span class="rule">[{f.rule}]</span>{f.suggestion ? ` did you mean ${f.suggestion}?` : ""}
    </button>
  );
}

export function Source({ flow, selected, lines, onLine }: { flow: Flow; selected: [number, number] | null; lines: Set<number>; onLine: (n: number) => void }) {
  const host = useRef<HTMLDivElement>(null);
  const text = useMemo(() => flow.source.replace(/\n$/, "").split("\n"), [flow]);
  const found = useMemo(() => {
    const by = new Map<number, Finding[]>();
    for (const f of flow.findings?.diagnostics ?? []) by.set(f.line, [...(by.get(f.line) ?? []), f]);
    return by;
  }, [flow]);
  useEffect(() => {
    const box = host.current!, line = selected && box.querySelector<HTMLElement>(`[data-line="${selected[0]}"]`);
    if (!line) return;
    const top = line.offsetTop - box.offsetTop;
    if (top < box.scrollTop || top > box.scrollTop + box.clientHeight - 60) box.scrollTop = top - box.clientHeight / 3;
  }, [selected?.[0]]);
  return (
    <div class="source" ref={host} tabIndex={0} role="group" aria-label={`Source of ${flow.file}`}>
      <pre>
        {text.map((l, i) => {
          const n = i + 1, here = found.get(n);
          const on = selected && n >= selected[0] && n <= selected[1];
          return (
            <div key={n} data-line={n} class={`line${on ? " on" : ""}${lines.has(n) ? " goes" : ""}${here ? " " + worst(here) : ""}`} onClick={() => onLine(n)}>
              <span class="no" aria-hidden="true">{n}</span><code>{colored(l)}</code>
              {here?.map((f, j) => <Found key={j} f={f} to="To the node in the graph" onGo={() => onLine(n)} />)}
            </div>
          );
        })}
      </pre>
    </div>
  );
}

/** worst is the worst severity of findings. */
export function worst(list: Finding[]): string {
  return ["error", "warning", "info"].find((s) => list.some((f) => f.severity === s)) ?? "info";
}

// colored tells keys, texts and comments of YAML apart, well enough to read.
function colored(line: string) {
  const out = [];
  const parts = line.matchAll(/(#(?<=(?:^|\s)#).*$)|("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')|([A-Za-z_][\w.-]*)(?=:(?:\s|$))|([^#"'A-Za-z_]+|[A-Za-z_][\w.-]*|.)/g);
  for (const m of parts) {
    if (m[1]) out.push(<span class="comment">{m[1]}</span>);
    else if (m[2]) out.push(<span class="string">{m[2]}</span>);
    else if (m[3]) out.push(<span class="name">{m[3]}</span>);
    else out.push(m[4]);
  }
  return out.length ? out : "\n";
}

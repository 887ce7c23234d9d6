// What models were asked and answered, and what programs said.

import { useLayoutEffect, useRef } from "preact/hooks";
import type { Message, Said, Spoken } from "./data";
import { line } from "./text";
import { Value } from "./value";

/** Conversation is what an execution added to the conversation, message by message. */
export function Conversation({ list }: { list: Spoken[] }) {
  return (
    <section>
      <h3>Conversation</h3>
      <ol class="talk">
        {list.map((s, i) => s.messages.map((m, j) => (
          <li key={i + " " + j} class={"turn " + m.role + (m.is_error ? " error" : "")}>
            <Turn m={m} summary={j === 0 && s.dropped ? s.dropped : 0} attempt={list.length > 1 && j === 0 ? s.attempt : 0} />
          </li>
        )))}
      </ol>
    </section>
  );
}

function Turn({ m, summary, attempt }: { m: Message; summary: number; attempt: number }) {
  const who = summary ? `summary of ${summary} messages` : m.role === "tool" ? `result of ${m.name ?? "a tool"}` : m.role;
  return (
    <>
      <span class="who">{who}{attempt > 1 ? `, attempt ${attempt}` : ""}{m.is_error && <span class="bad"> failed</span>}</span>
      {m.content && <Value value={data(m)} />}
      {m.parts?.filter((p) => p.kind !== "text").map((p, i) => <p key={i} class="hint">{p.kind}: {p.name ?? p.url ?? p.type}</p>)}
      {m.tool_calls?.map((c) => (
        <details key={c.id} class="tool"><summary>calls <strong>{c.name}</strong> <span class="hint">{c.malformed ? "with what is no JSON" : line(c.args, 60)}</span></summary><Value value={c.malformed ?? c.args} /></details>
      ))}
    </>
  );
}

// data is what a tool gave, as data where it is some.
function data(m: Message): unknown {
  if (m.role !== "tool" || !/^[[{]/.test(m.content!)) return m.content;
  try {
    return JSON.parse(m.content!);
  } catch {
    return m.content;
  }
}

/** Output is what a program or a model said, piece by piece. */
export function Output({ said, live }: { said: Said[]; live?: boolean }) {
  const box = useRef<HTMLPreElement>(null);
  useLayoutEffect(() => {
    if (live && box.current) box.current.scrollTop = box.current.scrollHeight;
  });
  return (
    <section>
      <h3>{live ? "Log so far" : "Log"}</h3>
      <pre class="said" tabIndex={0} ref={box}>{said.map((s, i) => <span key={i} class={s.stream}>{s.source ? `[${s.source}] ` : ""}{s.text}</span>)}</pre>
    </section>
  );
}

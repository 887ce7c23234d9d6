// A value as a tree that folds, with what is long cut until it is asked for.

import { useState } from "preact/hooks";
import { Icon } from "./icons";
import { line } from "./text";

const LONG = 400; // characters of a text
const MANY = 50; // entries of a list or an object

export function Value({ value, name, deep = 0 }: { value: unknown; name?: string; deep?: number }) {
  const [all, setAll] = useState(false);
  const label = name === undefined ? null : <span class="key">{name}: </span>;
  if (value === null || typeof value !== "object") {
    if (typeof value === "string") {
      const long = value.length > LONG && !all;
      const block = value.includes("\n");
      return (
        <div class="value">
          {label}
          <span class={block ? "text block" : "text"}>{long ? value.slice(0, LONG) + "…" : value === "" ? '""' : value}</span>
          {long && <button class="link" onClick={() => setAll(true)}>show all {value.length.toLocaleString("en")} characters</button>}
        </div>
      );
    }
    return <div class="value">{label}<span class="atom">{value === undefined ? "nothing" : String(value)}</span></div>;
  }
  const entries = Array.isArray(value) ? value.map((v, i) => [String(i), v] as const) : Object.entries(value);
  if (entries.length === 0) return <div class="value">{label}<span class="atom">{Array.isArray(value) ? "[]" : "{}"}</span></div>;
  const shown = all ? entries : entries.slice(0, MANY);
  const rows = (
    <div class={name === undefined ? "" : "entries"}>
      {shown.map(([k, v]) => <Value key={k} name={k} value={v} deep={deep + 1} />)}
      {shown.length < entries.length && <button class="link" onClick={() => setAll(true)}>show all {entries.length.toLocaleString("en")} entries</button>}
    </div>
  );
  if (name === undefined) return rows;
  return (
    <details class="value" open={deep < 2 && entries.length <= 12}>
      <summary><span class="key">{name}</span> <span class="hint">{line(value, 60)}</span></summary>
      {rows}
    </details>
  );
}

/** Shown is a value under a heading, with a button that copies its JSON. */
export function Shown({ title, value }: { title: string; value: unknown }) {
  const [copied, setCopied] = useState(false);
  const [raw, setRaw] = useState(false);
  const tree = typeof value === "object" && value !== null;
  const copy = async () => {
    await navigator.clipboard?.writeText(typeof value === "string" ? value : JSON.stringify(value, null, 2));
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <section class="shown">
      <h3>{title}<span class="acts">{tree && <button class="quiet" aria-pressed={raw} onClick={() => setRaw(!raw)} title="Raw JSON" aria-label={`${title} as raw JSON`}>{"{}"}</button>}<button class="quiet" onClick={copy} title="Copy as JSON" aria-label={`Copy ${title} as JSON`}>{copied ? "copied" : <Icon name="copy" size={13} />}</button></span></h3>
      {raw && tree ? <pre class="definition" tabIndex={0}>{JSON.stringify(value, null, 2)}</pre> : <Value value={value} />}
    </section>
  );
}

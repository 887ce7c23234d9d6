// Forms made of JSON Schema.

import { useId } from "preact/hooks";

export type Schema = Record<string, unknown>;

/** Given is what a person has typed; undefined: nothing. */
export type Given = string | undefined;

/** kindOf says which control a schema calls for. */
export function kindOf(schema: Schema): "choice" | "boolean" | "number" | "text" | "json" {
  if (Array.isArray(schema.enum)) return "choice";
  const types = ([] as unknown[]).concat(schema.type ?? []).filter((t) => t !== "null");
  if (types.length !== 1) return Object.keys(schema).length === 0 ? "text" : "json";
  switch (types[0]) {
    case "boolean": return "boolean";
    case "integer": case "number": return "number";
    case "string": return "text";
  }
  return "json";
}

/** read turns what was typed into a value; an error says what is wrong. */
export function read(schema: Schema, given: string): unknown {
  switch (kindOf(schema)) {
    case "choice": return (schema.enum as unknown[]).find((v) => JSON.stringify(v) === given);
    case "boolean": return given === "true";
    case "number": {
      const n = Number(given);
      if (given.trim() === "" || !Number.isFinite(n)) throw new Error("is not a number");
      if (schema.type === "integer" && !Number.isInteger(n)) throw new Error("is not a whole number");
      return n;
    }
    case "text":
      if (Object.keys(schema).length === 0) try { return JSON.parse(given); } catch { return given; }
      return given;
  }
  try {
    return JSON.parse(given);
  } catch {
    throw new Error("is not JSON");
  }
}

/** write is a value as it is typed. */
export function write(schema: Schema, value: unknown): string {
  if (value === undefined) return "";
  switch (kindOf(schema)) {
    case "choice": case "json": return JSON.stringify(value, null, kindOf(schema) === "json" ? 1 : 0);
  }
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Field asks for a value. */
export function Field({ name, schema, given, onGiven, required, secret, hint, problem, autofocus }: {
  name: string; schema: Schema; given: Given; onGiven: (text: Given) => void; required?: boolean; secret?: boolean; hint?: string; problem?: string; autofocus?: boolean;
}) {
  const id = useId();
  const kind = kindOf(schema);
  const common = {
    id, required, "aria-invalid": !!problem, "aria-describedby": problem ? id + "-problem" : undefined, autofocus,
    value: given ?? "", onInput: (e: Event) => onGiven((e.currentTarget as HTMLInputElement).value || undefined),
  };
  const about = [type(schema), String(schema.description ?? ""), hint ?? ""].filter(Boolean).join(" · ");
  return (
    <div class={"field" + (problem ? " wrong" : "")}>
      <label for={id}>{name}{required && <span class="tagged">required</span>}{secret && <span class="tagged">secret</span>}<span class="hint">{about}</span></label>
      {secret ? <input type="password" autocomplete="off" {...common} />
        : kind === "choice" ? <select {...common}><option value="">…</option>{(schema.enum as unknown[]).map((v) => <option key={JSON.stringify(v)} value={JSON.stringify(v)}>{typeof v === "string" ? v : JSON.stringify(v)}</option>)}</select>
        : kind === "boolean" ? <select {...common}><option value="">…</option><option value="true">true</option><option value="false">false</option></select>
        : kind === "number" ? <input type="text" inputMode="decimal" {...common} />
        : <textarea rows={kind === "json" ? 3 : Math.min(8, 1 + (given ?? "").split("\n").length)} spellcheck={kind === "text"} class={kind === "json" ? "code" : ""} placeholder={kind === "json" ? "JSON" : ""} {...common} />}
      {problem && <p class="bad" id={id + "-problem"}>{name} {problem}</p>}
    </div>
  );
}

/** type is a schema in a few words. */
export function type(schema: Schema): string {
  if (Array.isArray(schema.enum)) return "one of a list";
  const t = Array.isArray(schema.type) ? schema.type.join(" or ") : String(schema.type ?? "");
  const bounds = [schema.minimum !== undefined && `at least ${schema.minimum}`, schema.maximum !== undefined && `at most ${schema.maximum}`].filter(Boolean).join(", ");
  return [t === "array" && schema.items ? `list of ${type(schema.items as Schema) || "values"}` : t, bounds].filter(Boolean).join(", ");
}

/** Commands is the command line that does the same. */
export function Command({ text }: { text: string }) {
  return <code class="command" aria-label="The command that does the same">{text}</code>;
}

// What the page is given: the data of graphrun render --format html
// (internal/cli/page.go).

export interface Failure {
  kind: string;
  message: string;
  node: string | null;
  attempt: number | null;
  details: Record<string, unknown> | null;
}

export interface DrawnNode {
  id: string;
  kind: string;
  label: string;
  description: string;
  status: string | null;
  visits: number | null;
  duration_ms: number | null;
  error: Failure | null;
  line: number;
}

export interface DrawnEdge {
  index: number;
  id: string | null;
  from: string;
  to: string;
  condition: string;
  when: string | null;
  label: string | null;
  priority: number;
  fired: number | null;
  line: number;
}

export interface Drawing {
  graph: string;
  start: string;
  nodes: DrawnNode[];
  edges: DrawnEdge[];
  subgraphs: Record<string, Drawing>;
}

export interface Finding {
  file: string;
  line: number;
  column: number;
  severity: string;
  rule: string;
  message: string;
  suggestion?: string;
}

export interface Range {
  min: number;
  max: number | null;
  limit: string | null;
  why?: string;
}

export interface Bound {
  exact: boolean;
  steps: Range;
  llm_calls: Range;
  tokens: Range;
  cost_usd: Range;
  loops: { nodes: string[]; bounded_by: string[] | null }[];
}

export interface Flow {
  name: string;
  description: string;
  file: string;
  source: string;
  findings: { diagnostics: Finding[] } | null;
  bound: Bound | null;
  inputs: { key: string; required: boolean; secret: boolean; schema: Record<string, unknown>; default: unknown }[];
  nodes: Record<string, { notes?: string[]; finally?: boolean; text: string }>;
}

export interface Pending {
  node: string;
  index?: number | null;
  key: string | null;
  kind: string;
  prompt: string;
  schema?: unknown;
  /** fields are the properties of an object that is asked for, in the order of the file. */
  fields?: string[];
  name?: string;
  args?: Record<string, unknown>;
  due?: string | null;
}

export interface Result {
  run_id: string;
  graph: string;
  status: string;
  quality: string | null;
  reason: string;
  steps: number;
  max_steps: number;
  path: string[];
  state: Record<string, unknown>;
  output: unknown;
  error: Failure | null;
  pending: Pending[];
  running?: { node: string; rank: number; visit: number; attempt: number; doing: string; since: string }[];
  paused_at?: { phase: string; nodes: string[] };
  usage: { llm_calls: number; input_tokens: number; output_tokens: number; cost_usd: number | null };
  started_at: string;
  duration_ms: number;
}

/** An event as graphrun runs events prints it. */
export interface RunEvent {
  event: string;
  seq: number;
  time: string;
  step?: number;
  rank?: number;
  branch?: string;
  node?: string;
  /** place is node with the elements that it is inside, as in s[1]/write. */
  place?: string;
  from?: string[];
  visit?: number;
  attempt?: number;
  finally?: boolean;
  kind?: string;
  duration_ms?: number;
  cached?: boolean;
  skipped?: boolean;
  output?: unknown;
  error?: Failure;
  delta?: Record<string, unknown>;
  next?: string[];
  type?: string;
  message?: string;
  data?: Record<string, unknown>;
  status?: string;
  [more: string]: unknown;
}

export interface Part {
  source: string;
  values?: string;
  result: unknown;
  evaluated: boolean;
  op?: string;
  parts?: Part[];
}

export interface Decision {
  step: number;
  node: string;
  place?: string;
  visit: number;
  branch?: string;
  outcome: string;
  next: string[];
  candidates: { edge: number; id?: string; to: string; condition: string; when?: string; fired: boolean; why: string; test?: Part }[];
}

export interface Said {
  node: string;
  /** place is node with the elements that it is inside, and its own: s[1]/write[0]. */
  place: string;
  visit: number;
  attempt: number;
  source?: string;
  stream: string;
  text: string;
}

/** A message of a conversation. */
export interface Message {
  role: string;
  content?: string;
  parts?: { kind: string; text?: string; url?: string; type?: string; name?: string }[];
  tool_calls?: { id: string; name: string; args: Record<string, unknown> | null; malformed?: string }[];
  tool_call_id?: string;
  name?: string;
  is_error?: boolean;
}

/** What an execution of a node, or of one of its elements, added to the conversation. */
export interface Spoken {
  node: string;
  place: string;
  visit: number;
  attempt: number;
  /** dropped is how many messages before it a summary, the first message, took the place of. */
  dropped?: number;
  messages: Message[];
}

export interface Run {
  result: Result;
  state: Record<string, unknown>;
  events: RunEvent[];
  decisions: Decision[];
  said: Said[];
  conversation?: Spoken[];
  said_cut: number;
}

export interface Data {
  drawing: Drawing;
  flow: Flow;
  run: Run | null;
}

/** load reads the data that stands in the page. */
export async function load(): Promise<Data> {
  const element = document.getElementById("data")!;
  if (element.getAttribute("type") !== "application/gzip") return JSON.parse(element.textContent!);
  const bytes = Uint8Array.from(atob(element.textContent!), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

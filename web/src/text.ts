// Numbers and times for people.

/** duration of milliseconds, short. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const s = Math.round(ms / 1000);
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}

/** count of things, in words. */
export const count = (n: number, thing: string) => `${n.toLocaleString("en")} ${thing}${n === 1 ? "" : "s"}`;

const local = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** clock is a time of day in the reader's zone. */
export const clock = (iso: string) => local.format(new Date(iso));

/** line is a value in one line. */
export function line(v: unknown, most = 120): string {
  const text = typeof v === "string" ? v : (JSON.stringify(v) ?? "");
  const flat = text.slice(0, most * 2).replace(/\s+/g, " ");
  return flat.length > most ? flat.slice(0, most - 1) + "…" : flat;
}

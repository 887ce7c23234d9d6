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

const whole = new Intl.DateTimeFormat("sv", { dateStyle: undefined, year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3, timeZoneName: "longOffset" });

/** exact is a time in the reader's zone, to the millisecond, with what the zone is away
 * from UTC. */
export const exact = (iso: string) => whole.format(new Date(iso)).replace(",", ".");

/** typing says whether keys that are pressed are text for a field. */
export const typing = (e: Event) => e.target instanceof HTMLInputElement || e.target instanceof HTMLSelectElement || e.target instanceof HTMLTextAreaElement;

/** line is a value in one line. */
export function line(v: unknown, most = 120): string {
  const text = typeof v === "string" ? v : (JSON.stringify(v) ?? "");
  const flat = text.slice(0, most * 2).replace(/\s+/g, " ");
  return flat.length > most ? flat.slice(0, most - 1) + "…" : flat;
}

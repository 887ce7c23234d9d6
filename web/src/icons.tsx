// Icons of kinds and of how things stand: 16 by 16, drawn with lines.

const paths: Record<string, string> = {
  set: "M3 6h10M3 10h10",
  pass: "M3 8h10M9 4l4 4-4 4",
  exec: "M3 4l4 4-4 4M8 12h5",
  http: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M2 8h12M8 2c-2 2-3 4-3 6s1 4 3 6c2-2 3-4 3-6S10 4 8 2",
  llm: "M8 2l1.6 4.4L14 8l-4.4 1.6L8 14l-1.6-4.4L2 8l4.4-1.6z",
  agent: "M4 6h8v7H4zM8 6V3M6.5 9v1M9.5 9v1M2 9v2M14 9v2",
  tool: "M13 4l-3 3-1-1 3-3a4 4 0 0 0-5 5l-4.500 4.500 1.500 1.500L8.500 9.500A4 4 0 0 0 13 4",
  tools: "M13 4l-3 3-1-1 3-3a4 4 0 0 0-5 5l-4.500 4.500 1.500 1.500L8.500 9.500A4 4 0 0 0 13 4",
  human: "M8 2.500a2.500 2.500 0 1 0 0 5 2.500 2.500 0 0 0 0-5M3 14c0-3 2-5 5-5s5 2 5 5",
  graph: "M2.500 3h4v4h-4zM9.500 9h4v4h-4zM6.500 5h5v4",
  wait: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 5v3l2 2",
  fail: "M5.500 2h5L14 5.500v5L10.500 14h-5L2 10.500v-5zM6 6l4 4M10 6l-4 4",
  done: "M3 8.500l3.500 3.500L13 4.500",
  failed: "M4 4l8 8M12 4l-8 8",
  waiting: "M5 3v10M11 3v10",
  running: "M5 3l8 5-8 5z",
  cached: "M3 5c0-1 2-2 5-2s5 1 5 2-2 2-5 2-5-1-5-2v6c0 1 2 2 5 2s5-1 5-2V5",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  fit: "M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3",
  search: "M7 2.500a4.500 4.500 0 1 0 0 9 4.500 4.500 0 0 0 0-9M10.500 10.500L14 14",
  back: "M10 3L5 8l5 5",
  forth: "M6 3l5 5-5 5",
  first: "M12 3L7 8l5 5M4 3v10",
  last: "M4 3l5 5-5 5M12 3v10",
  close: "M4 4l8 8M12 4l-8 8",
  copy: "M5 5h8v9H5zM3 11V2h8",
};

export function Icon({ name, x, y, size = 16 }: { name: string; x?: number; y?: number; size?: number }) {
  return (
    <svg class="icon" x={x} y={y} width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={paths[name] ?? "M3 3h10v10H3z"} />
    </svg>
  );
}

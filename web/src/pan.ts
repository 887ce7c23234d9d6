// Moving a view by pointers, fingers and the wheel.

import { useEffect, useRef } from "preact/hooks";

/** View is where a drawing stands in its window, and how large. */
export interface View { x: number; y: number; k: number }

/** usePan moves the view of the SVG in host; a click beside everything is onClear. */
export function usePan(host: { current: HTMLDivElement | null }, view: { current: View }, apply: (v: View) => void, zoom: (by: number, x: number, y: number) => void, onClear: () => void) {
  const act = useRef({ apply, zoom, onClear });
  act.current = { apply, zoom, onClear };
  useEffect(() => {
    const svg = host.current!.querySelector<SVGSVGElement>("svg.canvas")!;
    const down = new Map<number, PointerEvent>();
    let moved = 0;
    const start = (e: PointerEvent) => {
      down.set(e.pointerId, e);
      moved = 0;
    };
    const move = (e: PointerEvent) => {
      const before = down.get(e.pointerId);
      if (!before) return;
      const dx = e.clientX - before.clientX, dy = e.clientY - before.clientY;
      moved += Math.abs(dx) + Math.abs(dy);
      if (moved > 4 && !svg.hasPointerCapture(e.pointerId)) svg.setPointerCapture(e.pointerId);
      const other = [...down.values()].find((o) => o.pointerId !== e.pointerId);
      if (other) {
        const far = (a: PointerEvent) => Math.hypot(a.clientX - other.clientX, a.clientY - other.clientY);
        const r = svg.getBoundingClientRect();
        act.current.zoom(far(e) / Math.max(1, far(before)), (e.clientX + other.clientX) / 2 - r.left, (e.clientY + other.clientY) / 2 - r.top);
      } else {
        const v = view.current;
        act.current.apply({ ...v, x: v.x + dx, y: v.y + dy });
      }
      down.set(e.pointerId, e);
    };
    const end = (e: PointerEvent) => {
      if (down.delete(e.pointerId) && moved <= 4 && e.type === "pointerup" && e.target === svg) act.current.onClear();
    };
    const wheel = (e: WheelEvent) => {
      e.preventDefault();
      const r = svg.getBoundingClientRect();
      const by = e.deltaMode ? e.deltaY * 16 : e.deltaY;
      act.current.zoom(Math.exp(-Math.max(-120, Math.min(120, by)) / 300), e.clientX - r.left, e.clientY - r.top);
    };
    svg.addEventListener("pointerdown", start);
    svg.addEventListener("pointermove", move);
    svg.addEventListener("pointerup", end);
    svg.addEventListener("pointercancel", end);
    svg.addEventListener("wheel", wheel, { passive: false });
    return () => {
      svg.removeEventListener("pointerdown", start);
      svg.removeEventListener("pointermove", move);
      svg.removeEventListener("pointerup", end);
      svg.removeEventListener("pointercancel", end);
      svg.removeEventListener("wheel", wheel);
    };
  }, []);
}

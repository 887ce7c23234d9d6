// Addresses of the served page.

/** go leads to another view without asking for the page anew. */
export function go(to: string) {
  history.pushState(null, "", to);
  dispatchEvent(new PopStateEvent("popstate"));
  scrollTo(0, 0);
}

/** follow makes links of the page lead where go does. */
export function follow(e: MouseEvent) {
  const link = (e.target as Element).closest?.("a");
  if (!link || e.button || e.ctrlKey || e.metaKey || e.shiftKey || link.origin !== location.origin || link.target) return;
  e.preventDefault();
  go(link.pathname + link.search + link.hash);
}

/** parts are those of a path, decoded. */
export const parts = (path: string) => path.split("/").filter(Boolean).map(decodeURIComponent);

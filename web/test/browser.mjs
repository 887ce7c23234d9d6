// Starts the browser that tests look at pages with.
import { chromium } from "playwright-core";
import { existsSync } from "node:fs";

const places = [process.env.GRAPHRUN_TEST_BROWSER, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export async function launch() {
  const executablePath = places.find((p) => p && existsSync(p));
  if (!executablePath) throw new Error("no Chromium found; set GRAPHRUN_TEST_BROWSER to one");
  return chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ["--no-sandbox"] : [] });
}

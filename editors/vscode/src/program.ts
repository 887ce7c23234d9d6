// The graphrun program.
import { spawn } from "node:child_process";
import * as vscode from "vscode";

/** program is the configured path or name of graphrun. */
export function program(): string {
  return vscode.workspace.getConfiguration("graphrun").get<string>("path") || "graphrun";
}

/** isGraph reports whether a text looks like a graph file. */
export function isGraph(text: string): boolean {
  return /^\s*["']?graphrun["']?\s*:/m.test(text);
}

/** render draws a graph as the page of graphrun; it fails with what the program says. */
export function render(text: string, folder: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program(), ["render", "-", "--format", "html"], { cwd: folder });
    let out = "", err = "";
    child.stdout.setEncoding("utf8").on("data", (s) => (out += s));
    child.stderr.setEncoding("utf8").on("data", (s) => (err += s));
    child.on("error", reject);
    child.on("close", (code) => (code === 0 ? resolve(out) : reject(new Error(err || out))));
    child.stdin.on("error", () => {}); // the program may end before it has read all
    child.stdin.end(text);
  });
}

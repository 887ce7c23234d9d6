// The graph beside the text: the page of `graphrun render`, which follows cursor and edits.
import { randomBytes } from "node:crypto";
import * as path from "node:path";
import * as vscode from "vscode";
import { render } from "./program";

/** GraphView is one panel, for the file that was shown last. */
export class GraphView implements vscode.Disposable {
  private panel?: vscode.WebviewPanel;
  private file?: vscode.Uri;
  private node = "";
  private timer?: NodeJS.Timeout;
  private readonly listening: vscode.Disposable[];

  constructor() {
    this.listening = [
      vscode.workspace.onDidChangeTextDocument((e) => this.isShown(e.document) && this.later(() => this.draw(e.document))),
      vscode.window.onDidChangeTextEditorSelection((e) => this.isShown(e.textEditor.document) && this.follow(e.textEditor)),
    ];
  }

  dispose() {
    clearTimeout(this.timer);
    this.panel?.dispose();
    for (const l of this.listening) l.dispose();
  }

  /** show opens the panel beside the text, or gives it another file. */
  async show(file: vscode.Uri) {
    this.file = file;
    if (!this.panel) {
      this.panel = vscode.window.createWebviewPanel("graphrun.graph", "Graph", { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true }, { enableScripts: true, retainContextWhenHidden: true });
      this.panel.onDidDispose(() => (this.panel = undefined));
    }
    this.panel.title = `Graph of ${path.basename(file.fsPath)}`;
    await this.draw(await vscode.workspace.openTextDocument(file));
  }

  private isShown(document: vscode.TextDocument) {
    return !!this.panel && document.uri.toString() === this.file?.toString();
  }

  private later(run: () => unknown) {
    clearTimeout(this.timer);
    this.timer = setTimeout(run, 300);
  }

  /** draw shows the text as it is; while it is not valid, the last picture stays. */
  private async draw(document: vscode.TextDocument) {
    const version = document.version;
    try {
      const page = await render(document.getText(), path.dirname(document.uri.fsPath));
      if (this.panel && document.version === version) {
        this.panel.webview.html = withMessages(page, this.node);
      }
    } catch (error) {
      if (this.panel && !this.panel.webview.html) {
        this.panel.webview.html = `<pre>${String(error).replace(/[&<>]/g, (c) => `&#${c.charCodeAt(0)};`)}</pre>`;
      }
    }
  }

  private async follow(editor: vscode.TextEditor) {
    const node = nodeAt(editor.document.getText(), editor.selection.active.line);
    if (node && node !== this.node) {
      this.node = node;
      await this.panel?.webview.postMessage({ node });
    }
  }
}

/** nodeAt is the node that a line is about: that of an edge, or the one that is declared there. */
export function nodeAt(text: string, line: number): string | undefined {
  const lines = text.split(/\r?\n/);
  const edge = /\bfrom:\s*\[?\s*["']?([\w-]+)/.exec(lines[line] ?? "");
  if (edge) return edge[1];
  let inNodes = -1, indent = -1, found: string | undefined;
  for (let n = 0; n <= line && n < lines.length; n++) {
    const at = /^(\s*)["']?([\w-]+)["']?:/.exec(lines[n]);
    if (!at) continue;
    const deep = at[1].length;
    if (deep === 0) {
      inNodes = at[2] === "nodes" ? n : -1;
      indent = -1;
      found = undefined;
    } else if (inNodes >= 0) {
      if (indent < 0) indent = deep;
      if (deep === indent) found = at[2];
    }
  }
  return found;
}

/** withMessages lets a page go to the node that the editor names. */
export function withMessages(page: string, node: string): string {
  const nonce = randomBytes(16).toString("hex");
  const script = `const go = (node) => { if (node) location.hash = "tab=flow&node=" + encodeURIComponent(node); };
addEventListener("message", (e) => go(e.data.node)); addEventListener("load", () => go(${JSON.stringify(node).replace(/</g, "\\u003c")}));`;
  return page
    .replace(/script-src '(sha256-[^']+)'/, `script-src '$1' 'nonce-${nonce}'`)
    .replace("</head>", `<script nonce="${nonce}">${script}</script></head>`);
}

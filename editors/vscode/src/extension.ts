// The extension: the language server of the graphrun program, its commands, and the graph
// beside the text.
import * as path from "node:path";
import * as vscode from "vscode";
import { LanguageClient, TransportKind } from "vscode-languageclient/node";
import { GraphView } from "./graph";
import { isGraph, program } from "./program";

let client: LanguageClient | undefined;

/** activate starts the language server and registers the commands. */
export async function activate(context: vscode.ExtensionContext) {
  const graph = new GraphView();
  const onFile = (name: string, run: (file: string) => unknown) =>
    vscode.commands.registerCommand(name, (given?: string) => {
      const file = given ?? vscode.window.activeTextEditor?.document.uri.fsPath;
      if (!file) {
        void vscode.window.showInformationMessage("Open a graph file first.");
        return;
      }
      return run(file);
    });
  context.subscriptions.push(
    graph,
    onFile("graphrun.run", (file) => inTerminal(file, ["run", file])),
    onFile("graphrun.dryRun", (file) => inTerminal(file, ["run", "--dry-run", file])),
    onFile("graphrun.test", (file) => inTerminal(file, ["test", testFile(file)])),
    onFile("graphrun.generateTests", (file) => inTerminal(file, ["test", "--generate", "-w", file])),
    onFile("graphrun.showGraph", (file) => graph.show(vscode.Uri.file(file))),
    vscode.window.onDidChangeActiveTextEditor(noteKind),
    vscode.workspace.onDidChangeConfiguration(async (e) => {
      if (e.affectsConfiguration("graphrun.path")) {
        await client?.stop();
        await start();
      }
    }),
  );
  noteKind(vscode.window.activeTextEditor);
  await start();
}

/** deactivate stops the language server. */
export function deactivate() {
  return client?.stop();
}

async function start() {
  client = new LanguageClient(
    "graphrun",
    "graphrun",
    { command: program(), args: ["lsp"], transport: TransportKind.stdio },
    {
      documentSelector: ["yaml", "json"].map((language) => ({ language, scheme: "file" })),
      initializationOptions: { lenses: true },
    },
  );
  try {
    await client.start();
  } catch (error) {
    const install = "How to install it";
    const chosen = await vscode.window.showErrorMessage(`graphrun: ${program()} can't be started: ${String(error)}. Set graphrun.path to the program.`, install);
    if (chosen === install) {
      await vscode.env.openExternal(vscode.Uri.parse("https://github.com/graphrun/graphrun/blob/main/docs/install.md"));
    }
  }
}

/** testFile is the test file of a flow: the file itself if it is one. */
export function testFile(file: string) {
  return /\.test\.ya?ml$/.test(file) ? file : file.replace(/\.(ya?ml|json)$/, ".test.yaml");
}

/** inTerminal runs graphrun in a terminal in the folder of a file. */
async function inTerminal(file: string, args: string[]) {
  await vscode.workspace.saveAll(false);
  const task = new vscode.Task(
    { type: "graphrun", args },
    vscode.TaskScope.Workspace,
    args.slice(0, -1).join(" "),
    "graphrun",
    new vscode.ProcessExecution(program(), args, { cwd: path.dirname(file) }),
  );
  task.presentationOptions = { clear: true, focus: true };
  return vscode.tasks.executeTask(task);
}

/** noteKind tells menus whether the active file is a graph. */
function noteKind(editor: vscode.TextEditor | undefined) {
  void vscode.commands.executeCommand("setContext", "graphrun.isGraph", !!editor && isGraph(editor.document.getText()));
}

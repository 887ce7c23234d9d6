// The parts of the extension that need no editor: what a line is about, the page beside
// the text, the grammar, the manifest.
import assert from "node:assert/strict";
import { readFileSync, mkdtempSync, existsSync } from "node:fs";
import { createRequire } from "node:module";
import { Module } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL("..", import.meta.url));
const require = createRequire(import.meta.url);
const resolve = Module._resolveFilename;
Module._resolveFilename = (name, ...rest) => (name === "vscode" ? "vscode" : resolve(name, ...rest));
require.cache.vscode = { id: "vscode", exports: { workspace: { getConfiguration: () => ({ get: () => process.env.GRAPHRUN }) } }, loaded: true };

async function load(name) {
  const out = join(mkdtempSync(join(tmpdir(), "graphrun-")), name + ".cjs");
  await build({ entryPoints: [join(here, "src", name + ".ts")], bundle: true, platform: "node", format: "cjs", external: ["vscode"], outfile: out });
  return require(out);
}

const flow = `graphrun: v1
name: flow
start: draft
nodes:
  draft: {kind: pass}
  check:
    kind: exec
    command: [echo, "{{ len('a') + 1 }}"]
edges:
  - {from: draft, to: check}
  - {from: check, to: END, when: visits.check < 3 and not false}
`;

test("a line is about a node", async () => {
  const { nodeAt } = await load("graph");
  const about = (line) => nodeAt(flow, line);
  assert.deepEqual([0, 3, 4, 5, 7, 8, 9, 10].map(about), [undefined, undefined, "draft", "check", "check", undefined, "draft", "check"]);
});

test("the page takes messages, and nothing but its own scripts", async () => {
  const { withMessages } = await load("graph");
  const page = withMessages(`<head><meta content="script-src 'sha256-abc='; x"></head>`, "a</script>");
  const nonce = /nonce="([0-9a-f]+)"/.exec(page)[1];
  assert.ok(page.includes(`script-src 'sha256-abc=' 'nonce-${nonce}'`));
  assert.equal(page.match(/<\/script>/g).length, 1);
});

test("the program draws the text", { skip: !process.env.GRAPHRUN && "GRAPHRUN is not set" }, async () => {
  const { render, isGraph } = await load("program");
  assert.ok(isGraph(flow) && !isGraph("name: other\n"));
  const page = await render(flow, here);
  assert.match(page, /<!doctype html>/);
  assert.match(page, /script-src 'sha256-/);
  await assert.rejects(render("graphrun: v1\n", here), /error/);
});

test("the grammar colours expressions", async () => {
  const { Registry, parseRawGrammar } = require("vscode-textmate");
  const oniguruma = require("vscode-oniguruma");
  await oniguruma.loadWASM(readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm")).buffer);
  const registry = new Registry({
    onigLib: Promise.resolve({ createOnigScanner: (p) => new oniguruma.OnigScanner(p), createOnigString: (s) => new oniguruma.OnigString(s) }),
    loadGrammar: async (scope) => {
      const files = { "source.yaml": "node_modules/tm-grammars/grammars/yaml.json", "graphrun.expressions": "syntaxes/expressions.tmLanguage.json" };
      return files[scope] ? parseRawGrammar(readFileSync(join(here, files[scope]), "utf8"), "g.json") : null;
    },
    getInjections: (scope) => (scope === "source.yaml" ? ["graphrun.expressions"] : undefined),
  });
  const grammar = await registry.loadGrammar("source.yaml");
  const scopes = (line) => Object.fromEntries(grammar.tokenizeLine(line, null).tokens.map((t) => [line.slice(t.startIndex, t.endIndex).trim(), t.scopes.at(-1)]));
  const template = scopes(`    command: [echo, "{{ len('a') + 1 }}"]`);
  assert.equal(template.len, "support.function.graphrun");
  assert.equal(template["'a'"], "string.quoted.single.graphrun");
  assert.equal(template["1"], "constant.numeric.graphrun");
  const edge = scopes("  - {from: check, to: END, when: visits.check < 3 and not false}");
  assert.equal(edge.visits, "support.variable.graphrun");
  assert.equal(edge.check, "variable.other.property.graphrun");
  assert.equal(edge.and, "keyword.operator.word.graphrun");
  assert.equal(edge.false, "constant.language.graphrun");
});

test("what the manifest names is there", () => {
  const manifest = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
  const source = readFileSync(join(here, "src/extension.ts"), "utf8");
  for (const c of manifest.contributes.commands) assert.ok(source.includes(`"${c.command}"`), c.command);
  for (const f of [...manifest.contributes.grammars, ...manifest.contributes.snippets]) assert.ok(existsSync(join(here, f.path)), f.path);
  assert.ok(existsSync(join(here, manifest.main)), "the bundle is not built");
});

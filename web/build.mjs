// Builds the page into the Go package that embeds it. With --check it compares
// what is there instead, and fails if that is not what the source gives.
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";

const out = new URL("../internal/page/dist/", import.meta.url);
const { outputFiles } = await build({
  entryPoints: { page: new URL("src/main.tsx", import.meta.url).pathname },
  bundle: true, minify: true, format: "iife", target: "es2022", charset: "utf8", legalComments: "none", write: false,
  jsx: "automatic", jsxImportSource: "preact", outdir: "dist",
});
let same = true;
for (const file of outputFiles) {
  const name = new URL(file.path.split("/").pop(), out);
  // What ends a script or a style element must not stand in one.
  const text = file.text.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
  if (!process.argv.includes("--check")) writeFileSync(name, text);
  else if (readFileSync(name, "utf8") !== text) {
    same = false;
    console.error(`${name.pathname} is not what web gives: run make page, and commit it`);
  }
}
process.exit(same ? 0 : 1);

// Bundles the pages of pages.json and the workers of workers.json into build/site. Everything a page loads lies
// in that folder. A page is a folder pages/NAME with page.html and main.ts; its styles are imported by main.ts.
// {{> NAME field="value"}} in a page stands for parts/NAME.html, in which {{field}} stands for the value.
// Data that Python writes (build/site-data) is copied to build/site/data; public/ is copied to the top.
import { build } from "esbuild";
import { cp, mkdir, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import path from "node:path";
import { compileLibrary } from "./compile_python.mjs";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const OUT = path.join(HERE, "..", "build", "site");
const DATA = path.join(HERE, "..", "build", "site-data");

const PYODIDE_FILES = [
  "pyodide.mjs",
  "pyodide.asm.mjs",
  "pyodide.asm.js",
  "pyodide.asm.wasm",
  "pyodide-lock.json",
  "python_stdlib.zip",
];

const readJson = async (name) => JSON.parse(await readFile(path.join(HERE, name), "utf8"));

const exists = (file) => stat(file).then(() => true, () => false);

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

function filled(text, fields) {
  return text.replace(/\{\{(\w+)\}\}/g, (whole, key) => fields[key] ?? whole);
}

async function readParts() {
  const names = (await readdir(path.join(HERE, "parts"))).map((file) => path.basename(file, ".html"));
  return Object.fromEntries(
    await Promise.all(
      names.map(async (name) => [name, await readFile(path.join(HERE, "parts", `${name}.html`), "utf8")]),
    ),
  );
}

function withParts(text, parts) {
  return text.replace(/\{\{> (\w+)((?: \w+="[^"]*")*)\}\}\n/g, (whole, name, fields) => {
    if (parts[name] === undefined) throw new Error(`${whole.trim()}: there is no parts/${name}.html`);
    const given = [...fields.matchAll(/(\w+)="([^"]*)"/g)].map(([, field, value]) => [field, value]);
    return filled(parts[name], Object.fromEntries(given));
  });
}

function navigation(pages, current) {
  return pages
    .map(({ name, navigation }) => {
      const here = name === current ? ' aria-current="page"' : "";
      return `<li><a href="${name}.html"${here}>${escaped(navigation)}</a></li>`;
    })
    .join("");
}

/** A card for each page but the first, whose content asks for them. */
function doors(pages) {
  return pages
    .slice(1)
    .map(({ name, title, description }) => {
      const text = `<h2>${escaped(title)}</h2><p>${escaped(description)}</p>`;
      return `<li><a class="door" href="${name}.html">${text}</a></li>`;
    })
    .join("\n");
}

async function bundle(pages) {
  const workers = await readJson("workers.json");
  const entryPoints = {
    site: path.join(HERE, "src/styles/site.css"),
    ...Object.fromEntries(pages.map(({ name }) => [name, path.join(HERE, "pages", name, "main.ts")])),
    ...Object.fromEntries(workers.map((name) => [path.basename(name), path.join(HERE, "src", `${name}.ts`)])),
  };
  const common = { loader: { ".ptx": "text" }, bundle: true, minify: true, target: "es2022", legalComments: "none", logLevel: "warning" };
  await build({
    ...common,
    entryPoints,
    outdir: path.join(OUT, "assets"),
    format: "esm",
    splitting: true,
    chunkNames: "chunk-[hash]",
    external: ["../pyodide/*", "../data/*"],
  });
  await build({
    ...common,
    entryPoints: [path.join(HERE, "src/shell/early_theme.ts")],
    outdir: path.join(OUT, "assets"),
    format: "iife",
  });
}

async function writePage(shell, parts, policy, pages, page) {
  const content = await readFile(path.join(HERE, "pages", page.name, "page.html"), "utf8");
  const hasStyles = await exists(path.join(OUT, "assets", `${page.name}.css`));
  const fields = {
    name: page.name,
    title: escaped(page.title),
    description: escaped(page.description),
    policy,
    navigation: navigation(pages, page.name),
    styles: hasStyles ? `<link rel="stylesheet" href="assets/${page.name}.css">` : "",
    doors: doors(pages),
  };
  const html = shell.replace("{{content}}", () => withParts(content, parts));
  await writeFile(path.join(OUT, `${page.name}.html`), filled(html, fields));
}

const pages = await readJson("pages.json");
const shell = await readFile(path.join(HERE, "shell.html"), "utf8");
const policy = await readFile(path.join(DATA, "policy.txt"), "utf8");
await rm(OUT, { recursive: true, force: true });
await mkdir(path.join(OUT, "pyodide"), { recursive: true });
await bundle(pages);
const parts = await readParts();
for (const page of pages) await writePage(shell, parts, policy, pages, page);
await cp(path.join(HERE, "public"), OUT, { recursive: true });
await cp(DATA, path.join(OUT, "data"), { recursive: true });
for (const file of PYODIDE_FILES) {
  const from = path.join(HERE, "node_modules", "pyodide", file);
  if (await exists(from)) await cp(from, path.join(OUT, "pyodide", file));
}
await compileLibrary(path.join(OUT, "pyodide", "python_stdlib.zip"));
console.log("build/site/index.html");

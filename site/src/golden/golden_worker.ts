// Runs the golden model of the repository in Python, by Pyodide. `openwmma.learn.microscope` answers.
import { serve } from "../workers/serve";
import type { Answer, Question } from "./explanation";

/** The part of Pyodide that is used. */
interface Pyodide {
  readonly FS: { writeFile(path: string, data: Uint8Array): void };
  runPython(code: string): unknown;
  pyimport(module: string): unknown;
}

interface Loader {
  readonly loadPyodide: (options: { indexURL: string }) => Promise<Pyodide>;
}

interface Microscope {
  readonly answer_text: (question: string) => string;
}

const ARCHIVE = "/home/golden.zip";

async function load(): Promise<(question: Question) => Answer> {
  const pyodideAddress = new URL("../pyodide/", import.meta.url);
  const archive = fetch(new URL("../data/golden.zip", import.meta.url)).then((response) => {
    if (!response.ok) throw new Error(`data/golden.zip: ${response.status} ${response.statusText}`);
    return response.arrayBuffer();
  });
  const { loadPyodide } = (await import(new URL("pyodide.mjs", pyodideAddress).href)) as Loader;
  const pyodide = await loadPyodide({ indexURL: pyodideAddress.href });
  pyodide.FS.writeFile(ARCHIVE, new Uint8Array(await archive));
  pyodide.runPython(`import sys; sys.path.insert(0, ${JSON.stringify(ARCHIVE)})`);
  const microscope = pyodide.pyimport("openwmma.learn.microscope") as Microscope;
  return (question) => JSON.parse(microscope.answer_text(JSON.stringify(question))) as Answer;
}

serve(load);

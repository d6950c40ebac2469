// Python's part of a worker: Pyodide with the sources of the repository, and one module that answers questions.

/** The part of Pyodide that is used. */
interface Pyodide {
  readonly FS: { writeFile(path: string, data: Uint8Array): void };
  runPython(code: string): unknown;
  pyimport(module: string): unknown;
}

interface Loader {
  readonly loadPyodide: (options: { indexURL: string }) => Promise<Pyodide>;
}

interface Answering {
  readonly answer_text: (question: string) => string;
}

const ARCHIVE = "/home/golden.zip";

/** Loads Python and a module; its `answer_text` takes a question and gives an answer, both as JSON text. */
export async function pythonAnswers(module: string): Promise<(question: unknown) => unknown> {
  const pyodideAddress = new URL("../pyodide/", import.meta.url);
  const archive = fetch(new URL("../data/golden.zip", import.meta.url)).then((response) => {
    if (!response.ok) throw new Error(`data/golden.zip: ${response.status} ${response.statusText}`);
    return response.arrayBuffer();
  });
  const { loadPyodide } = (await import(new URL("pyodide.mjs", pyodideAddress).href)) as Loader;
  const pyodide = await loadPyodide({ indexURL: pyodideAddress.href });
  pyodide.FS.writeFile(ARCHIVE, new Uint8Array(await archive));
  pyodide.runPython(`import sys; sys.path.insert(0, ${JSON.stringify(ARCHIVE)})`);
  const answering = pyodide.pyimport(module) as Answering;
  return (question) => JSON.parse(answering.answer_text(JSON.stringify(question))) as unknown;
}

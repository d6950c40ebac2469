// Python's part of a worker: Pyodide with the sources of the repository, and one module that answers questions.
import type { PyodideInterface } from "pyodide";

interface Loader {
  loadPyodide(options: { indexURL: string }): Promise<PyodideInterface>;
}

const ARCHIVE = "/home/golden.zip";

/** Loads Python and a module; `answer_text` of that takes a question and gives an answer, both as JSON text. */
export async function pythonAnswers<Question, Answer>(module: string): Promise<(question: Question) => Answer> {
  const pyodideAddress = new URL("../pyodide/", import.meta.url);
  const archive = fetch(new URL("../data/golden.zip", import.meta.url)).then((response) => {
    if (!response.ok) throw new Error(`data/golden.zip: ${response.status} ${response.statusText}`);
    return response.arrayBuffer();
  });
  const { loadPyodide } = (await import(new URL("pyodide.mjs", pyodideAddress).href)) as Loader;
  const pyodide = await loadPyodide({ indexURL: pyodideAddress.href });
  pyodide.FS.writeFile(ARCHIVE, new Uint8Array(await archive));
  pyodide.runPython(`import sys; sys.path.insert(0, ${JSON.stringify(ARCHIVE)})`);
  const answerText = pyodide.pyimport(module).answer_text as (question: string) => string;
  return (question) => JSON.parse(answerText(JSON.stringify(question))) as Answer;
}

// Compiles Python's own library to bytecode with Pyodide itself, so that a page need not do it at every visit.
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { loadPyodide } from "pyodide";

const PROGRAM = `
import importlib.util, io, marshal, zipfile

UNCHECKED = (0b01).to_bytes(4, "little")

def bytecode(name, source):
    code = compile(source, name, "exec", dont_inherit=True)
    return importlib.util.MAGIC_NUMBER + UNCHECKED + importlib.util.source_hash(source) + marshal.dumps(code)

def compiled(archive):
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as sources, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as result:
        for item in sources.infolist():
            content, name = sources.read(item), item.filename
            if name.endswith(".py"):
                content, name = bytecode(name, content), name + "c"
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            result.writestr(entry, content)
    return made.getvalue()

lambda archive: compiled(archive.to_bytes())
`;

/**
 * Rewrites an archive of Python sources as an archive of bytecode.
 * @param {string} archive Path of Python's own library, beside the rest of Pyodide.
 */
export async function compileLibrary(archive) {
  const pyodide = await loadPyodide({ indexURL: path.dirname(archive) });
  const compiled = pyodide.runPython(PROGRAM);
  const result = compiled(new Uint8Array(await readFile(archive)));
  await writeFile(archive, result.toJs());
}

// The hardware as WebAssembly: loads a module of data/ and gives its functions and memory.

/** The functions of a module, all of them on 32-bit numbers. */
export class RtlModule {
  private constructor(private readonly exports: WebAssembly.Exports) {}

  /** @param address Of the module. */
  static async load(address: URL): Promise<RtlModule> {
    const response = await fetch(address);
    if (!response.ok) throw new Error(`${address.pathname}: ${response.status} ${response.statusText}`);
    const module = await WebAssembly.compile(await response.arrayBuffer());
    // The C++ library asks for an environment and for files; there is neither, and 0 says so without an error.
    const system = Object.fromEntries(WebAssembly.Module.imports(module).map(({ name }) => [name, () => 0]));
    const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: system });
    const found = new RtlModule(instance.exports);
    found.call("_initialize");
    return found;
  }

  call(name: string, ...values: readonly number[]): number {
    const found = this.exports[name] as ((...values: readonly number[]) => number | undefined) | undefined;
    if (found === undefined) throw new Error(`The module has no function ${name}`);
    return (found(...values) ?? 0) >>> 0;
  }

  /** A view of 32-bit words; it holds until the next call. */
  words(address: number, count: number): Uint32Array {
    return new Uint32Array((this.exports.memory as WebAssembly.Memory).buffer, address, count);
  }

  /** A view of bytes; it holds until the next call. */
  bytes(address: number, count: number): Uint8Array {
    return new Uint8Array((this.exports.memory as WebAssembly.Memory).buffer, address, count);
  }
}

/** Loads a module and its description from the folder data/ beside the page or worker's folder. */
export async function loadRtl<Description>(name: string, folder: URL): Promise<[RtlModule, Description]> {
  const description = fetch(new URL(`${name}.json`, folder)).then(async (response) => {
    if (!response.ok) throw new Error(`data/${name}.json: ${response.status} ${response.statusText}`);
    return (await response.json()) as Description;
  });
  return [await RtlModule.load(new URL(`${name}.wasm`, folder)), await description];
}

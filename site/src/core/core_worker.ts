// Runs a program's commands on the core in WebAssembly, from reset to its end.
import { loadRtl } from "../rtl/module";
import { serve } from "../workers/serve";
import type { Answer, CoreDescription, Outcome, Question } from "./run";

const OUTCOMES: readonly Outcome[] = ["unfinished", "done", "fault"];
const CYCLE_LIMIT = 400_000;

async function load(): Promise<(question: Question) => Answer> {
  const [module, description] = await loadRtl<CoreDescription>("core", new URL("../data/", import.meta.url));
  const noted = (name: string): Uint32Array => {
    const address = module.call(`${name}_address`);
    return module.words(address, module.call(`${name}_words`)).slice();
  };
  return (question) => {
    if (question.kind === "describe") {
      module.call("reset", 1);
      return { description, base: module.call("memory_base"), bytes: module.call("memory_bytes") };
    }
    module.call("reset", question.latency);
    module.bytes(module.call("memory_address"), question.memory.length).set(question.memory);
    const words = question.commands.flat();
    module.words(module.call("commands_address", question.commands.length), words.length).set(words);
    const before = performance.now();
    const outcome = OUTCOMES[module.call("run", CYCLE_LIMIT)] ?? "unfinished";
    const milliseconds = performance.now() - before;
    return {
      outcome,
      cause: module.call("fault_cause"),
      index: module.call("fault_index"),
      cycles: noted("cycles"),
      starts: noted("starts"),
      writes: noted("writes"),
      beats: noted("beats"),
      arrivals: noted("arrivals"),
      memory: module.bytes(module.call("memory_address"), question.memory.length).slice(),
      milliseconds,
    };
  };
}

serve(load);

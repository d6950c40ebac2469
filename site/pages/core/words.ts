// Commands and their waits in words.
import type { Command } from "../../src/core/program";
import type { Cycle, Life, Registers, Wait } from "../../src/core/timeline";

const UNITS: Readonly<Record<string, string>> = {
  load: "load unit",
  store: "store unit",
  tile: "tile multiplier",
  move: "register mover",
};

const CAUSES: readonly string[] = [
  "",
  "an instruction that this core does not execute",
  "registers beyond the register file",
  "an address that is not aligned",
  "",
  "a stride that is not aligned",
  "an address beyond the address width",
  "the memory answered a read with an error",
  "nothing lives at the address that was read",
  "the memory answered a write with an error",
  "nothing lives at the address that was written",
];

/** Why a command failed; the numbers are those of `golden.tables.faults.Cause`. */
export function causeText(cause: number): string {
  return CAUSES[cause] ?? `cause ${cause}`;
}

/** A command in a few words. */
export function shortName(command: Command): string {
  const [opcode = ""] = command.text.split(/[\s{]/);
  const [first = "", second = "", third = ""] = opcode.split(".");
  if (first === "wmma" && second === "mma") return "multiply";
  if (first === "mma") return "multiply";
  if (first === "wmma") return third.length === 1 ? `${second} ${third}` : second;
  return first === "mov" ? "fill" : first;
}

/** Number, line and name of a command. */
export function label(command: Command, index: number): string {
  return `${index + 1}: ${shortName(command)} (line ${command.line})`;
}

export function registersText({ first, last }: Registers): string {
  return first === last ? `register ${first}` : `registers ${first} to ${last}`;
}

/** Why a command waits. */
export function waitText(wait: Wait, commands: readonly Command[]): string {
  const blocker = wait.blocker === undefined ? undefined : commands[wait.blocker];
  const other = blocker === undefined || wait.blocker === undefined ? "a command in flight" : label(blocker, wait.blocker);
  switch (wait.kind) {
    case "registers": {
      const what = wait.operand === undefined ? "registers" : registersText(wait.operand);
      return wait.isWrite ? `would write ${what}, which ${other} still uses` : `reads ${what}, which ${other} has not written yet`;
    }
    case "memory":
      return `touches bytes of memory that ${other} still uses`;
    case "unit":
      return wait.full ? `its unit has as many commands as it holds, ${other} among them` : "its unit takes nothing in this cycle";
  }
}

/** What a command does in a cycle. */
export function activity(life: Life, command: Command, cycle: number, commands: readonly Command[]): string | undefined {
  const { arrived, taken, started, fetched, done, unit } = life;
  if (arrived === undefined || cycle < arrived || (done !== undefined && cycle > done)) return undefined;
  const name = label(command, life.index);
  if (taken === undefined || cycle < taken) return `${name} stands in the queue.`;
  if (started === undefined || cycle < started) {
    const wait = life.waits.find(({ from, to }) => cycle >= from && cycle < to);
    return wait === undefined ? `${name} is decoded and asks the scoreboard.` : `${name} waits: it ${waitText(wait, commands)}.`;
  }
  const where = UNITS[unit ?? ""] ?? unit ?? "its unit";
  const read = fetched !== undefined && cycle > fetched && life.reads.length > 0 ? "; it has read its operands" : "";
  return `${name} is in the ${where}${read}.`;
}

/** What the bus and the multipliers do in a cycle. */
export function traffic(now: Cycle): string {
  const parts = [
    ...(now.reads ? ["16 bytes come from memory"] : []),
    ...(now.writes ? ["16 bytes go to memory"] : []),
    ...(now.multiplies ? ["a dot product was started"] : []),
  ];
  if (parts.length === 0) return now.stallEmpty ? "The queue is empty; nothing new can start." : "The bus and the multipliers rest.";
  const text = parts.join("; ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

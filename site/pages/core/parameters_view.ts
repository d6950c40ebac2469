// The program's parameters: what each buffer holds at first, and the numbers.
import { html } from "../../src/components/dom";
import type { Parameter } from "../../src/core/program";
import type { BufferSetting, Element, Fill } from "./programs";

export const BUFFER_BYTES = 0x1000;

export interface Buffer extends BufferSetting {
  readonly name: string;
  readonly address: number;
}

const FILLS: readonly (readonly [Fill, string])[] = [
  ["zeros", "zeros"],
  ["ones", "ones"],
  ["identity", "identity"],
  ["counting", "0 to 15"],
  ["halves", "\u22122.5 to 3.5"],
  ["alternating", "1 and \u22121"],
];
const TYPES: readonly (readonly [Element, string])[] = [
  ["f16", "f16"],
  ["f32", "f32"],
];
const COLUMNS = [8, 16, 32, 64];
const ZEROS: BufferSetting = { fill: "zeros", type: "f32", columns: 16 };

export class ParametersView {
  private parameters: readonly Parameter[] = [];

  constructor(
    private readonly place: HTMLElement,
    private readonly base: number,
  ) {}

  /** Shows parameters; each number has some choices. */
  show(
    parameters: readonly Parameter[],
    buffers: Readonly<Record<string, BufferSetting>>,
    numbers: Readonly<Record<string, number>>,
    choices: readonly Readonly<Record<string, number>>[],
  ): void {
    this.parameters = parameters;
    this.place.replaceChildren(
      ...parameters.map(({ name, type }, index) =>
        type === "u64"
          ? bufferFields(name, this.address(index), buffers[name] ?? ZEROS)
          : numberField(name, type, choices.map((choice) => choice[name] ?? 0), numbers[name] ?? 0),
      ),
    );
  }

  /** What each buffer holds at first. */
  buffers(): Buffer[] {
    return this.parameters.flatMap(({ name, type }, index) => {
      if (type !== "u64") return [];
      const chosen = (part: string): string => this.place.querySelector<HTMLSelectElement>(`[name="${name}-${part}"]`)?.value ?? "";
      const setting = { fill: chosen("fill") as Fill, type: chosen("type") as Element, columns: Number(chosen("columns")) };
      return [{ name, address: this.address(index), ...setting }];
    });
  }

  /** The values of the parameters that are no buffers. */
  numbers(): Record<string, number> {
    const found = this.parameters.filter(({ type }) => type !== "u64").map(({ name }) => {
      const field = this.place.querySelector<HTMLSelectElement>(`[name="${name}-value"]`);
      return [name, Number(field?.value ?? 0)] as const;
    });
    return Object.fromEntries(found);
  }

  private address(index: number): number {
    return this.base + BUFFER_BYTES * index;
  }
}

function select(name: string, label: string, options: readonly (readonly [string | number, string])[], value: string | number): HTMLElement {
  const choices = options.map(([option, text]) => html("option", { value: option, selected: option === value }, text));
  return html("select", { name, "aria-label": label }, ...choices);
}

function bufferFields(name: string, address: number, setting: BufferSetting): HTMLElement {
  return html(
    "div",
    { class: "parameter", role: "group", "aria-label": `Buffer ${name}` },
    html("strong", { class: "mono" }, name),
    html("span", { class: "hint" }, `4096 bytes at 0x${address.toString(16)}`),
    select(`${name}-fill`, `${name}: contents`, FILLS, setting.fill),
    select(`${name}-type`, `${name}: type of an element`, TYPES, setting.type),
    select(`${name}-columns`, `${name}: elements in a row`, COLUMNS.map((count) => [count, `${count} columns`] as const), setting.columns),
  );
}

function numberField(name: string, type: string, choices: readonly number[], value: number): HTMLElement {
  return html(
    "div",
    { class: "parameter" },
    html("strong", { class: "mono" }, name),
    html("span", { class: "hint" }, `.${type}`),
    select(`${name}-value`, `Value of ${name}`, choices.map((choice) => [choice, String(choice)] as const), value),
  );
}

// Registers and memory in a cycle.
import { html } from "../../src/components/dom";
import type { Element } from "./programs";
import type { Registers } from "../../src/core/timeline";
import type { RegisterState } from "../../src/core/state";

const LANES_IN_A_ROW = 4;

/** The value of an f16. */
export function f16(bits: number): number {
  const [sign, exponent, fraction] = [bits >>> 15 ? -1 : 1, (bits >>> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? Number.NaN : sign * Infinity;
  return sign * (exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24);
}

/** The value of an f32. */
export function f32(bits: number): number {
  return new DataView(Uint32Array.of(bits).buffer).getFloat32(0, true);
}

export function valueText(value: number): string {
  if (Object.is(value, -0)) return "\u22120";
  const text = Number.isFinite(value) && Math.abs(value) >= 1e-3 && Math.abs(value) < 1e6 ? String(Number(value.toPrecision(6))) : value.toString();
  return text.replace("-", "\u2212");
}

export interface RegisterMarks {
  readonly reads: readonly Registers[];
  readonly write: Registers | undefined;
}

/** A box for each register, coloured by the unit that wrote it last. */
export function registerBoxes(
  state: RegisterState,
  writer: (register: number, cycle: number) => string | undefined,
  chosen: number,
  marks: RegisterMarks,
  choose: (register: number) => void,
): HTMLElement[] {
  const within = (register: number, ranges: readonly Registers[]): boolean => ranges.some(({ first, last }) => register >= first && register <= last);
  return Array.from(state.written, (cycle, register) => {
    const unit = cycle < 0 ? undefined : writer(register, cycle);
    const reads = within(register, marks.reads);
    const writes = marks.write !== undefined && within(register, [marks.write]);
    const names = [
      `register ${register}`,
      unit === undefined ? "not written yet" : `last written by a ${unit} in cycle ${cycle}`,
      ...(reads ? ["read by the instruction"] : []),
      ...(writes ? ["written by the instruction"] : []),
    ];
    const box = html(
      "button",
      {
        type: "button",
        class: `register ${unit ?? "untouched"}${reads ? " reads" : ""}${writes ? " writes" : ""}`,
        "aria-pressed": String(register === chosen),
        "aria-label": names.join(", "),
        title: names.join(", "),
        "data-register": register,
      },
      String(register),
    );
    box.addEventListener("click", () => {
      choose(register);
    });
    return box;
  });
}

/** The lanes of a register, a quad in each row. */
export function lanesTable(state: RegisterState, register: number, format: string): HTMLElement {
  const lanes = state.lanes(register);
  const text = (word: number): string => {
    if (format === "f32") return valueText(f32(word));
    if (format === "hex") return `0x${word.toString(16).padStart(8, "0")}`;
    return `${valueText(f16(word & 0xffff))}, ${valueText(f16(word >>> 16))}`;
  };
  const rows = Array.from({ length: lanes.length / LANES_IN_A_ROW }, (_, quad) => {
    const cells = Array.from(lanes.subarray(LANES_IN_A_ROW * quad, LANES_IN_A_ROW * (quad + 1)), (word) => html("td", { class: "mono" }, text(word)));
    const first = LANES_IN_A_ROW * quad;
    return html("tr", {}, html("th", { scope: "row" }, `lanes ${first} to ${first + 3}`), ...cells);
  });
  return html("table", { class: "data" }, html("caption", { class: "visually-hidden" }, `Register ${register}`), html("tbody", {}, ...rows));
}

/** The elements of a buffer as a matrix; marked ones passed the bus just now. */
export function memoryTable(bytes: Uint8Array, type: Element, columns: number, rows: number, isMarked: (offset: number) => string): HTMLElement {
  const size = type === "f16" ? 2 : 4;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const element = (offset: number): string => valueText(type === "f16" ? f16(view.getUint16(offset, true)) : view.getFloat32(offset, true));
  const body = Array.from({ length: rows }, (_, row) => {
    const cells = Array.from({ length: columns }, (_unused, column) => {
      const offset = (row * columns + column) * size;
      return html("td", { class: `mono ${isMarked(offset)}` }, element(offset));
    });
    return html("tr", {}, html("th", { scope: "row" }, String(row)), ...cells);
  });
  const head = html("tr", {}, html("td", {}), ...Array.from({ length: columns }, (_, column) => html("th", { scope: "col" }, String(column))));
  return html("table", { class: "data memory" }, html("thead", {}, head), html("tbody", {}, ...body));
}

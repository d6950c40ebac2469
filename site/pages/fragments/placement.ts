// Where the elements of one fragment are: in the matrix, in the warp, in memory.
import type { Fragment, FragmentTables, Layout } from "../../src/data/tables";

export interface WarpPlace {
  readonly lane: number;
  /** Number of the element in its lane, in register order, low bits first. */
  readonly slot: number;
}

/** Bytes of a line of the picture of memory, by bits of an element. */
const LINE_BYTES: Readonly<Record<number, number>> = { 64: 32, 32: 32, 16: 32, 8: 16, 4: 16, 1: 16 };

export class Placement {
  readonly slots: number;
  private readonly lanes: readonly number[];
  private readonly places: readonly (readonly WarpPlace[])[];

  /**
   * @param stride Elements from one line of memory to the next.
   */
  constructor(
    readonly fragment: Fragment,
    tables: FragmentTables,
    readonly layout: Layout,
    readonly stride: number,
  ) {
    const positions = tables.positions[fragment.positions] ?? [];
    this.slots = positions.length / tables.lanes;
    const places: WarpPlace[][] = Array.from({ length: fragment.rows * fragment.columns }, () => []);
    positions.forEach((element, index) => {
      places[element]?.push({ lane: Math.floor(index / this.slots), slot: index % this.slots });
    });
    this.places = places;
    this.lanes = places.map(([first]) => first?.lane ?? 0);
    this.positions = positions;
  }

  private readonly positions: readonly number[];

  get elements(): number {
    return this.places.length;
  }

  /** Elements of a line in memory: a row, or a column. */
  get lineLength(): number {
    return this.layout === "row" ? this.fragment.columns : this.fragment.rows;
  }

  /** Elements from the first to the last in memory, padding included. */
  get extent(): number {
    const lines = this.layout === "row" ? this.fragment.rows : this.fragment.columns;
    return (lines - 1) * this.stride + this.lineLength;
  }

  /** Elements in a line of the picture of memory. */
  get pictureLine(): number {
    return ((LINE_BYTES[this.fragment.bits] ?? 16) * 8) / this.fragment.bits;
  }

  row(element: number): number {
    return Math.floor(element / this.fragment.columns);
  }

  column(element: number): number {
    return element % this.fragment.columns;
  }

  element(row: number, column: number): number {
    return row * this.fragment.columns + column;
  }

  lane(element: number): number {
    return this.lanes[element] ?? 0;
  }

  warpPlaces(element: number): readonly WarpPlace[] {
    return this.places[element] ?? [];
  }

  elementInWarp(lane: number, slot: number): number {
    return this.positions[lane * this.slots + slot] ?? 0;
  }

  /** Distance from the first element in memory, in elements. */
  offset(element: number): number {
    const [row, column] = [this.row(element), this.column(element)];
    return this.layout === "row" ? row * this.stride + column : column * this.stride + row;
  }

  /** The element at a distance; undefined between lines. */
  elementInMemory(offset: number): number | undefined {
    const [line, place] = [Math.floor(offset / this.stride), offset % this.stride];
    if (place >= this.lineLength || offset >= this.extent) return undefined;
    return this.layout === "row" ? this.element(line, place) : this.element(place, line);
  }

  /** The registers and bits of an element, in words. */
  registerText(slot: number): string {
    const { bits } = this.fragment;
    const first = slot * bits;
    const register = Math.floor(first / 32);
    if (bits > 32) return `registers ${register} and ${register + 1}`;
    if (bits === 32) return `register ${register}`;
    const low = first % 32;
    return `register ${register}, ${bits === 1 ? `bit ${low}` : `bits ${low} to ${low + bits - 1}`}`;
  }

  /** The address of an element, in words. */
  addressText(element: number): string {
    const bit = this.offset(element) * this.fragment.bits;
    const byte = Math.floor(bit / 8);
    const address = `byte ${byte} (0x${byte.toString(16)})`;
    if (this.fragment.bits >= 8) return address;
    const low = bit % 8;
    return `${address}, ${this.fragment.bits === 1 ? `bit ${low}` : `bits ${low} to ${low + this.fragment.bits - 1}`}`;
  }

  /** Everything about an element in one sentence. */
  sentence(element: number): string {
    const [first] = this.warpPlaces(element);
    if (first === undefined) return "";
    const others = this.warpPlaces(element).slice(1);
    const again = others.length > 0 ? `, and again in ${others.map(({ slot }) => this.registerText(slot)).join("; ")}` : "";
    return (
      `Element (${this.row(element)}, ${this.column(element)}): lane ${first.lane} of quad ${first.lane >> 2}, ` +
      `${this.registerText(first.slot)}${again}; in memory at ${this.addressText(element)}.`
    );
  }
}

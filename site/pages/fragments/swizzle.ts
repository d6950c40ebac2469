// Where eight rows of a tile lie in the banks of shared memory, with a swizzle and without it.
import { counted, required, setOptions, svg } from "../../src/components/dom";

const ROWS = 8;
const CHUNK = 16;
/** Bytes of a line of memory: all 32 banks of 4 bytes. */
const LINE = 128;
const CHUNKS = LINE / CHUNK;

const CELL = 76;
const HEIGHT = 24;
const LEFT = 76;
const TOP = 24;

interface Chunk {
  readonly row: number;
  readonly number: number;
  readonly address: number;
}

export class SwizzleView {
  private readonly size = required("#row-bytes", HTMLSelectElement);
  private readonly swizzled = required("#swizzled", HTMLSelectElement);
  private readonly chosen = required("#chunk", HTMLSelectElement);
  private readonly readout = required("#swizzle-readout", HTMLElement);
  private readonly host = required("#swizzle-banks", HTMLElement);

  constructor() {
    for (const select of [this.size, this.swizzled, this.chosen]) {
      select.addEventListener("input", () => {
        this.draw();
      });
    }
    this.draw();
  }

  /** As `golden.matrix_descriptors`: bits 4 to 6 XORed with bits 7 to 9, as many as the swizzle has. */
  private address(row: number, number: number): number {
    const size = Number(this.size.value);
    const plain = row * size + number * CHUNK;
    return this.swizzled.value === "yes" ? plain ^ ((plain >> 3) & (size - CHUNK)) : plain;
  }

  private draw(): void {
    const count = Number(this.size.value) / CHUNK;
    setOptions(this.chosen, Array.from({ length: count }, (_, at) => [String(at), `${at * CHUNK} to ${at * CHUNK + CHUNK - 1}`]));
    const chunks: Chunk[] = Array.from({ length: ROWS * count }, (_, at) => {
      const [row, number] = [Math.floor(at / count), at % count];
      return { row, number, address: this.address(row, number) };
    });
    const read = chunks.filter(({ number }) => number === Number(this.chosen.value));
    const meeting = Array.from({ length: CHUNKS }, (_, group) => read.filter(({ address }) => group === groupOf(address)).length);
    const most = Math.max(...meeting);
    const addresses = read.map(({ address }) => `0x${address.toString(16).padStart(3, "0")}`).join(", ");
    const met = most === 1 ? "no two rows meet in a bank" : `${counted(most, "row")} meet in a bank`;
    this.readout.textContent = `Rows 0 to 7 at ${addresses}: ${met}, read in ${counted(most, "cycle")}.`;
    this.host.replaceChildren(picture(chunks, new Set(read), most));
  }
}

function groupOf(address: number): number {
  return (address % LINE) / CHUNK;
}

function picture(chunks: readonly Chunk[], read: ReadonlySet<Chunk>, most: number): SVGElement {
  const lines = Math.max(...chunks.map(({ address }) => Math.floor(address / LINE))) + 1;
  const [width, height] = [LEFT + CHUNKS * CELL + 4, TOP + lines * HEIGHT + 4];
  const found = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
  found.append(svg("title", {}, "Shared memory in lines of 32 banks"), svg("desc", {}, "Each cell is 16 bytes of a row"));
  for (let group = 0; group < CHUNKS; group++) {
    const x = LEFT + (group + 0.5) * CELL;
    found.append(svg("text", { x, y: TOP - 8, class: "column" }, `${4 * group} to ${4 * group + 3}`));
  }
  for (let line = 0; line < lines; line++) {
    const y = TOP + line * HEIGHT + 16;
    found.append(svg("text", { x: LEFT - 6, y, class: "line" }, `0x${(line * LINE).toString(16).padStart(3, "0")}`));
  }
  for (const chunk of chunks) {
    const [x, y] = [LEFT + groupOf(chunk.address) * CELL, TOP + Math.floor(chunk.address / LINE) * HEIGHT];
    const mark = read.has(chunk) ? (most > 1 ? " clash" : " writing") : "";
    const box = { x: x + 1.5, y: y + 1.5, width: CELL - 3, height: HEIGHT - 3 };
    found.append(svg("rect", { ...box, class: `quad-${chunk.row} thread-${read.has(chunk) ? 3 : 0}${mark}` }));
    found.append(svg("text", { x: x + CELL / 2, y: y + 16, class: "cell" }, `row ${chunk.row}, ${chunk.number * CHUNK}`));
  }
  return found;
}

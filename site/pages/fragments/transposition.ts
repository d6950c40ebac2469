// The banks of the load crossbar, step by step: segments go in, words come out.
import { counted, required, setOptions, svg } from "../../src/components/dom";
import type { Transposition } from "../../src/data/tables";

const BANKS = 16;
const CELL = 32;
const HEIGHT = 17;
const LEFT = 64;
const STRIP = 22;
const TOP = 54;
const STEP_MILLISECONDS = 450;

/** A byte of memory: its line, and its number in the line. */
interface Byte {
  readonly line: number;
  readonly byte: number;
}

export class TranspositionView {
  private readonly example = required("#example", HTMLSelectElement);
  private readonly skewed = required("#skewed", HTMLSelectElement);
  private readonly slider = required("#cycle", HTMLInputElement);
  private readonly play = required("#play", HTMLButtonElement);
  private readonly host = required("#banks", HTMLElement);
  private readonly readout = required("#bank-readout", HTMLElement);
  private timer: number | undefined;

  constructor(private readonly tables: readonly Transposition[]) {
    const options = tables.map((table, index) => [String(index), title(table)] as const);
    setOptions(this.example, options);
    this.example.addEventListener("change", () => {
      this.restart();
    });
    this.skewed.addEventListener("change", () => {
      this.draw();
    });
    this.slider.addEventListener("input", () => {
      this.draw();
    });
    required("#back", HTMLButtonElement).addEventListener("click", () => {
      this.go(-1);
    });
    required("#forward", HTMLButtonElement).addEventListener("click", () => {
      this.go(1);
    });
    this.play.addEventListener("click", () => {
      if (this.timer === undefined) this.start();
      else this.pause();
    });
    this.restart();
  }

  private get table(): Transposition {
    const found = this.tables[Number(this.example.value)];
    if (found === undefined) throw new Error(`No example ${this.example.value}`);
    return found;
  }

  private get step(): number {
    return Number(this.slider.value);
  }

  private get isSkewed(): boolean {
    return this.skewed.value === "yes";
  }

  private restart(): void {
    this.pause();
    this.slider.max = String(this.table.segments.length + this.table.words.length - 1);
    this.slider.value = "0";
    this.draw();
  }

  private start(): void {
    if (this.step === Number(this.slider.max)) this.slider.value = "0";
    this.play.textContent = "Pause";
    this.timer = setInterval(() => {
      this.go(1);
      if (this.step === Number(this.slider.max)) this.pause();
    }, STEP_MILLISECONDS);
  }

  private pause(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.play.textContent = "Play";
  }

  private go(steps: number): void {
    this.slider.value = String(this.step + steps);
    this.draw();
  }

  private skewOf(line: number, segment: number): number {
    return this.table.segments.find((item) => item.line === line && item.segment === segment)?.skew ?? 0;
  }

  /** The bytes of memory that make a word, in the order of the word. */
  private bytesOfWord(index: number): Byte[] {
    const word = this.table.words[index];
    if (word === undefined) return [];
    return word.places.map(([line, segment], position) => {
      const bank = position ^ word.skew;
      const place = bank ^ this.skewOf(line, segment);
      return { line, byte: segment * BANKS + place };
    });
  }

  private bankOf({ line, byte }: Byte): number {
    const skew = this.isSkewed ? this.skewOf(line, Math.floor(byte / BANKS)) : 0;
    return (byte % BANKS) ^ skew;
  }

  private draw(): void {
    const { table, step } = this;
    const written = Math.min(step + 1, table.segments.length);
    const wordIndex = step - table.segments.length;
    const active = wordIndex < 0 ? this.bytesOfSegment(step) : this.bytesOfWord(wordIndex);
    const counts = new Map<number, number>();
    for (const byte of active) counts.set(this.bankOf(byte), (counts.get(this.bankOf(byte)) ?? 0) + 1);
    const cycles = Math.max(...counts.values());
    this.readout.textContent = this.words(step, wordIndex, cycles);
    this.slider.setAttribute("aria-valuetext", `step ${step + 1} of ${Number(this.slider.max) + 1}`);
    this.host.replaceChildren(this.picture(written, active, cycles));
  }

  private bytesOfSegment(index: number): Byte[] {
    const found = this.table.segments[index];
    if (found === undefined) return [];
    return Array.from({ length: BANKS }, (_, place) => ({ line: found.line, byte: found.segment * BANKS + place }));
  }

  private words(step: number, wordIndex: number, cycles: number): string {
    const { table } = this;
    const kind = table.layout === "row" ? "row" : "column";
    const segment = table.segments[step];
    const how = this.isSkewed ? "" : ", without skew";
    if (segment !== undefined) {
      const amount = this.isSkewed ? segment.skew : 0;
      return `Step ${step + 1}: write bytes ${segment.segment * BANKS} to ${segment.segment * BANKS + BANKS - 1} of ${kind} ${segment.line}, rotated by ${amount}. 1 cycle.`;
    }
    const word = table.words[wordIndex];
    if (word === undefined) return "";
    const lines = new Set(this.bytesOfWord(wordIndex).map(({ line }) => line)).size;
    const swap = word.swap ? ", lanes 1 and 2 exchanged" : "";
    const rotation = this.isSkewed ? `, skew ${word.skew}${swap}` : "";
    return (
      `Step ${step + 1}: read register ${word.register} of quad ${word.quad}, bytes of ${counted(lines, kind)}${rotation}${how}. ` +
      (cycles === 1 ? "Every byte comes from another bank: 1 cycle." : `${cycles} bytes lie in one bank: ${cycles} cycles.`)
    );
  }

  private picture(written: number, active: readonly Byte[], cycles: number): SVGElement {
    const { table } = this;
    const width = LEFT + BANKS * CELL + 4;
    const height = TOP + table.segments.length * HEIGHT + 4;
    const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
    const what = `${counted(written, "segment")} written; the marked bytes are those of this step`;
    picture.append(svg("title", {}, "Sixteen banks of one byte"), svg("desc", {}, what));
    picture.append(...this.strip(active));
    for (let bank = 0; bank < BANKS; bank++) {
      picture.append(svg("text", { x: LEFT + (bank + 0.5) * CELL, y: TOP - 6, class: "column" }, String(bank)));
    }
    const marked = new Set(active.map(({ line, byte }) => `${line}.${byte}`));
    table.segments.forEach(({ line, segment }, index) => {
      const y = TOP + index * HEIGHT;
      const label = `${table.layout === "row" ? "row" : "col"} ${line}`;
      picture.append(svg("text", { x: LEFT - 6, y: y + 12, class: "line" }, label));
      for (let place = 0; place < BANKS; place++) {
        const byte = { line, byte: segment * BANKS + place };
        const isMarked = marked.has(`${line}.${byte.byte}`);
        picture.append(...this.cell(byte, y, index < written, isMarked, cycles));
      }
    });
    return picture;
  }

  /** The bytes of this step in the order of the segment or of the word. */
  private strip(active: readonly Byte[]): SVGElement[] {
    const isWrite = this.step < this.table.segments.length;
    const parts: SVGElement[] = [svg("text", { x: LEFT - 6, y: 14, class: "line" }, isWrite ? "segment" : "word")];
    active.forEach((byte, place) => {
      const x = LEFT + place * CELL;
      const box = { x: x + 1.5, y: 1.5, width: CELL - 3, height: STRIP - 3 };
      parts.push(svg("rect", { ...box, class: colourOf(byte) }));
      parts.push(svg("text", { x: x + CELL / 2, y: 14, class: "cell" }, `${byte.line},${byte.byte}`));
    });
    parts.push(svg("text", { x: LEFT - 6, y: TOP - 6, class: "line" }, "bank"));
    return parts;
  }

  private cell(byte: Byte, y: number, isWritten: boolean, isMarked: boolean, cycles: number): SVGElement[] {
    const x = LEFT + this.bankOf(byte) * CELL;
    const colour = isWritten ? colourOf(byte) : "empty";
    const mark = isMarked ? (cycles > 1 ? " clash" : " writing") : "";
    const box = { x: x + 1.5, y: y + 1.5, width: CELL - 3, height: HEIGHT - 3 };
    const rectangle = svg("rect", { ...box, class: colour + mark });
    if (!isWritten) return [rectangle];
    return [rectangle, svg("text", { x: x + CELL / 2, y: y + 12, class: "cell" }, String(byte.byte))];
  }
}

/** Lines of memory have colours of their own, the second eight paler. */
function colourOf({ line }: Byte): string {
  return `quad-${line % 8} thread-${line % 16 < 8 ? 3 : 1}`;
}

function title({ use, type, shape, layout, pattern }: Transposition): string {
  const order = layout === "row" ? "row by row" : "column by column";
  return `${use.toUpperCase()} of ${type}, ${shape}, ${order} (${pattern.toLowerCase().replaceAll("_", " ")})`;
}

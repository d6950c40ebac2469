// A picture of cells in lines: colours by lane, one chosen element, pointer and arrow keys.
import { svg } from "../../src/components/dom";

export interface PaneModel {
  readonly title: string;
  readonly description: string;
  readonly lines: number;
  readonly columns: number;
  readonly cellWidth: number;
  readonly cellHeight: number;
  /** Cells after which there is a small gap, to the right and below. */
  readonly columnGroup: number;
  readonly lineGroup: number;
  readonly labelWidth: number;
  /** The element of a cell; undefined where there is none. */
  readonly element: (line: number, column: number) => number | undefined;
  readonly lane: (element: number) => number;
  readonly text: (element: number) => string;
  readonly lineLabel: (line: number) => string;
  readonly columnLabel: (column: number) => string;
}

interface Cell {
  readonly line: number;
  readonly column: number;
}

const GAP = 4;
const HEAD = 16;

export class Pane {
  private model: PaneModel | undefined;
  private overlay = svg("g");
  private cellsOf = new Map<number, Cell[]>();
  private here: Cell = { line: 0, column: 0 };

  /**
   * @param host The focusable element that holds the picture.
   * @param onPick Called with the element that the reader points at or moves to.
   */
  constructor(
    private readonly host: HTMLElement,
    private readonly onPick: (element: number) => void,
  ) {
    host.addEventListener("pointermove", (event) => {
      this.pickAt(event);
    });
    host.addEventListener("pointerdown", (event) => {
      this.pickAt(event);
    });
    host.addEventListener("keydown", (event) => {
      this.move(event);
    });
  }

  /** Replaces the picture. */
  draw(model: PaneModel): void {
    this.model = model;
    this.cellsOf = new Map();
    this.here = { line: 0, column: 0 };
    const width = this.x(model.columns - 1) + model.cellWidth + GAP;
    const height = this.y(model.lines - 1) + model.cellHeight + GAP;
    const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
    picture.append(svg("title", {}, model.title), svg("desc", {}, model.description), ...this.labels(model));
    picture.append(...this.cells(model));
    this.overlay = svg("g");
    picture.append(this.overlay);
    this.host.replaceChildren(picture);
  }

  /** Marks an element wherever it is; `follow` scrolls to it. */
  show(element: number, follow: boolean): void {
    const { model } = this;
    if (model === undefined) return;
    const cells = this.cellsOf.get(element) ?? [];
    const isHere = cells.some(({ line, column }) => line === this.here.line && column === this.here.column);
    if (!isHere && cells[0] !== undefined) this.here = cells[0];
    const marks = cells.flatMap((cell) => ["chosen-halo", "chosen"].map((name) => this.outline(cell, name)));
    this.overlay.replaceChildren(...marks);
    if (follow) this.scrollTo(this.here);
  }

  private x(column: number): number {
    const { labelWidth = 0, columnGroup = 1, cellWidth = 0 } = this.model ?? {};
    return labelWidth + column * cellWidth + Math.floor(column / columnGroup) * GAP;
  }

  private y(line: number): number {
    const { lineGroup = 1, cellHeight = 0 } = this.model ?? {};
    return HEAD + line * cellHeight + Math.floor(line / lineGroup) * GAP;
  }

  private outline({ line, column }: Cell, name: string): SVGElement {
    const { cellWidth: width = 0, cellHeight: height = 0 } = this.model ?? {};
    return svg("rect", { x: this.x(column), y: this.y(line), width, height, class: name });
  }

  private labels(model: PaneModel): SVGElement[] {
    const lines = Array.from({ length: model.lines }, (_, line) =>
      svg("text", { x: model.labelWidth - 4, y: this.y(line) + model.cellHeight / 2 + 3.5, class: "line" }, model.lineLabel(line)),
    );
    const columns = Array.from({ length: model.columns }, (_, column) => {
      const text = model.columnLabel(column);
      return svg("text", { x: this.x(column) + model.cellWidth / 2, y: HEAD - 5, class: "column" }, text);
    });
    return [...lines, ...columns.filter(({ textContent }) => textContent !== "")];
  }

  /** One path for each lane, and a text for each cell that has room. */
  private cells(model: PaneModel): SVGElement[] {
    const paths = new Map<string, string[]>();
    const texts: SVGElement[] = [];
    for (let line = 0; line < model.lines; line++) {
      for (let column = 0; column < model.columns; column++) {
        const element = model.element(line, column);
        const lane = element === undefined ? undefined : model.lane(element);
        const kind = lane === undefined ? "padding" : `quad-${lane >> 2} thread-${lane & 3}`;
        const [x, y] = [this.x(column), this.y(line)];
        const rectangle = `M${x} ${y}h${model.cellWidth}v${model.cellHeight}h${-model.cellWidth}z`;
        paths.set(kind, [...(paths.get(kind) ?? []), rectangle]);
        if (element === undefined) continue;
        this.cellsOf.set(element, [...(this.cellsOf.get(element) ?? []), { line, column }]);
        const text = model.text(element);
        const place = { x: x + model.cellWidth / 2, y: y + model.cellHeight / 2 + 3.5, class: "cell" };
        if (text) texts.push(svg("text", place, text));
      }
    }
    const filled = [...paths].map(([kind, parts]) => svg("path", { d: parts.join(""), class: kind }));
    const edges = svg("path", { d: [...paths.values()].flat().join(""), class: "edge" });
    return [...filled, edges, ...texts];
  }

  private pickAt(event: PointerEvent): void {
    const { model } = this;
    const picture = this.host.querySelector("svg");
    if (model === undefined || picture === null) return;
    const box = picture.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const column = this.indexAt(x, model.columns, model.cellWidth, (index) => this.x(index));
    const line = this.indexAt(y, model.lines, model.cellHeight, (index) => this.y(index));
    if (column !== undefined && line !== undefined) this.pick({ line, column });
  }

  private indexAt(at: number, count: number, size: number, start: (index: number) => number): number | undefined {
    for (let index = 0; index < count; index++) {
      if (at >= start(index) && at < start(index) + size) return index;
    }
    return undefined;
  }

  private pick(cell: Cell): boolean {
    const element = this.model?.element(cell.line, cell.column);
    if (element === undefined) return false;
    this.here = cell;
    this.onPick(element);
    return true;
  }

  private move(event: KeyboardEvent): void {
    const { model } = this;
    if (model === undefined) return;
    const steps: Readonly<Record<string, readonly [number, number]>> = {
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      Home: [0, -model.columns],
      End: [0, model.columns],
    };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const clamp = (value: number, count: number): number => Math.max(0, Math.min(count - 1, value));
    let cell = this.here;
    // Padding between lines of memory is stepped over.
    for (let tries = 0; tries < model.lines + model.columns; tries++) {
      cell = { line: clamp(cell.line + step[0], model.lines), column: clamp(cell.column + step[1], model.columns) };
      if (this.pick(cell)) break;
    }
    this.scrollTo(this.here);
  }

  private scrollTo({ line, column }: Cell): void {
    const { cellWidth = 0, cellHeight = 0 } = this.model ?? {};
    const [x, y] = [this.x(column), this.y(line)];
    const { host } = this;
    if (x < host.scrollLeft) host.scrollLeft = x - GAP;
    if (x + cellWidth > host.scrollLeft + host.clientWidth) host.scrollLeft = x + cellWidth - host.clientWidth + GAP;
    if (y < host.scrollTop) host.scrollTop = y - GAP;
    if (y + cellHeight > host.scrollTop + host.clientHeight) host.scrollTop = y + cellHeight - host.clientHeight + GAP;
  }
}

import "../../src/shell/shell";
import "./style.css";

import { required, setOptions } from "../../src/components/dom";
import { type Fragment, type FragmentTables, type Layout, loadTable, type Transposition } from "../../src/data/tables";
import { matrixModel, memoryModel, warpModel } from "./models";
import { Pane } from "./pane";
import { Placement } from "./placement";
import { SwizzleView } from "./swizzle";
import { TranspositionView } from "./transposition";

const NAMES = ["mnemonic", "use", "type", "shape", "layout", "stride"] as const;
type Name = (typeof NAMES)[number];

const LAYOUT_TEXTS: Readonly<Record<Layout, string>> = { row: "row by row", col: "column by column" };
const DEFAULTS = { mnemonic: "wmma", use: "a", type: "f16", shape: "m16n16k16", layout: "row", row: "5", column: "3" };

const unique = (texts: readonly string[]): [string, string][] => [...new Set(texts)].map((text) => [text, text]);

class Page {
  private readonly selects: Readonly<Record<Name, HTMLSelectElement>>;
  private readonly row = required("#row", HTMLInputElement);
  private readonly column = required("#column", HTMLInputElement);
  private readonly readout = required("#readout", HTMLElement);
  private readonly panes: readonly Pane[];
  private placement: Placement;
  private element = 0;

  constructor(private readonly tables: FragmentTables) {
    const entries = NAMES.map((name) => [name, required(`#${name}`, HTMLSelectElement)] as const);
    this.selects = Object.fromEntries(entries) as Record<Name, HTMLSelectElement>;
    this.panes = ["matrix", "warp", "memory"].map((name) => new Pane(required(`#${name}`, HTMLElement), (element) => {
      this.choose(element, name);
    }));
    setOptions(this.selects.mnemonic, [["wmma", "wmma"], ["mma", "mma.sync"]]);
    this.narrow();
    this.placement = this.newPlacement();
    required("#choice", HTMLFormElement).addEventListener("input", (event) => {
      if (event.target instanceof HTMLSelectElement) this.draw();
      else this.chooseTyped();
    });
    required("#choice", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
    });
    addEventListener("hashchange", () => {
      this.open();
    });
  }

  /** Takes up what the address asks for. */
  open(): void {
    const wanted = { ...DEFAULTS, ...Object.fromEntries(new URLSearchParams(location.hash.slice(1))) } as Record<string, string>;
    for (const name of NAMES) {
      const value = wanted[name];
      const select = this.selects[name];
      if (value !== undefined && [...select.options].some((option) => option.value === value)) select.value = value;
      this.narrow();
    }
    [this.row.value, this.column.value] = [wanted.row ?? "0", wanted.column ?? "0"];
    this.draw();
    this.chooseTyped();
  }

  /** Offers in each select what goes with the choices before it. */
  private narrow(): void {
    const { mnemonic, use, type, shape, layout, stride } = this.selects;
    let left: readonly Fragment[] = this.tables.fragments.filter((item) => item.mnemonic === mnemonic.value);
    setOptions(use, unique(left.map((item) => item.use)).map(([name]) => [name, name.toUpperCase()]));
    left = left.filter((item) => item.use === use.value);
    setOptions(type, unique(left.map((item) => item.type)));
    left = left.filter((item) => item.type === type.value);
    setOptions(shape, unique(left.map((item) => item.shape)));
    const { layouts } = this.fragment;
    setOptions(layout, layouts.map((name) => [name, LAYOUT_TEXTS[name]]));
    layout.disabled = layouts.length < 2;
    setOptions(stride, this.strides().map((count) => [String(count), `${count} elements`]));
  }

  private get fragment(): Fragment {
    const { mnemonic, use, type, shape } = this.selects;
    const found = this.tables.fragments.find(
      (item) =>
        item.mnemonic === mnemonic.value && item.use === use.value && item.type === type.value && item.shape === shape.value,
    );
    if (found === undefined) throw new Error(`No fragment ${use.value} of ${type.value} ${shape.value}`);
    return found;
  }

  /** Lines without padding, with 16 bytes, and twice as far apart. */
  private strides(): number[] {
    const { rows, columns, bits } = this.fragment;
    const length = this.selects.layout.value === "col" ? rows : columns;
    return [...new Set([length, length + 128 / bits, 2 * length])];
  }

  private newPlacement(): Placement {
    const { layout, stride } = this.selects;
    return new Placement(this.fragment, this.tables, layout.value as Layout, Number(stride.value));
  }

  private draw(): void {
    this.narrow();
    this.placement = this.newPlacement();
    const { placement } = this;
    const models = [matrixModel(placement), warpModel(placement), memoryModel(placement)];
    models.forEach((model, index) => this.panes[index]?.draw(model));
    const { use, rows, columns, registers, bits } = placement.fragment;
    const text = (name: string, words: string): void => {
      required(`#${name}-hint`, HTMLElement).textContent = words;
    };
    text("matrix", `${use.toUpperCase()}: ${rows} rows, ${columns} columns. ${bits >= 8 ? "A number is a lane." : ""}`);
    text("warp", `${registers} registers in each of 32 lanes. ${bits >= 8 ? "Numbers are row, column." : ""}`);
    text("memory", `Line ${LAYOUT_TEXTS[placement.layout]}; a grey cell is padding.`);
    this.choose(Math.min(this.element, placement.elements - 1), "");
  }

  private choose(element: number, pane: string): void {
    this.element = element;
    const { placement } = this;
    this.panes.forEach((each, index) => {
      each.show(element, ["matrix", "warp", "memory"][index] !== pane);
    });
    this.readout.textContent = placement.sentence(element);
    if (pane) {
      this.row.value = String(placement.row(element));
      this.column.value = String(placement.column(element));
      this.complain("");
    }
    const entries = NAMES.map((name) => [name, this.selects[name].value]);
    const place = [["row", String(placement.row(element))], ["column", String(placement.column(element))]];
    history.replaceState(null, "", `#${new URLSearchParams([...entries, ...place]).toString()}`);
  }

  private chooseTyped(): void {
    const { rows, columns } = this.placement.fragment;
    const [row, column] = [this.row.value.trim(), this.column.value.trim()];
    const isIn = (text: string, count: number): boolean => /^\d+$/.test(text) && Number(text) < count;
    const isRow = isIn(row, rows);
    const isColumn = isIn(column, columns);
    this.row.setAttribute("aria-invalid", String(!isRow));
    this.column.setAttribute("aria-invalid", String(!isColumn));
    if (isRow && isColumn) {
      this.complain("");
      this.choose(this.placement.element(Number(row), Number(column)), "");
    } else {
      this.complain(`Row ${row || "(empty)"}, column ${column || "(empty)"}: expected a row from 0 to ${rows - 1} and a column from 0 to ${columns - 1}.`);
    }
  }

  private complain(message: string): void {
    const place = required("#place-error", HTMLElement);
    place.textContent = message;
    place.hidden = !message;
    if (!message) for (const input of [this.row, this.column]) input.removeAttribute("aria-invalid");
  }
}

async function start(): Promise<void> {
  const wantsBanks = location.hash === "#transposition";
  new Page(await loadTable<FragmentTables>("fragments")).open();
  new SwizzleView();
  new TranspositionView(await loadTable<Transposition[]>("transposition"));
  if (wantsBanks) required("#transposition", HTMLElement).scrollIntoView();
}

start()
  .catch((error: unknown) => {
    const failure = required("#failure", HTMLElement);
    failure.textContent = `The page could not start: ${error instanceof Error ? error.message : String(error)}`;
    failure.hidden = false;
  })
  .finally(() => {
    required("#panes", HTMLElement).setAttribute("aria-busy", "false");
  });

// Everything under the form: the timeline with its cursor, and registers and memory where the cursor stands.
import { html, required, setOptions } from "../../src/components/dom";
import type { Command } from "../../src/core/program";
import type { CoreDescription, Run } from "../../src/core/run";
import { beatsBetween, memoryAt, RegisterState } from "../../src/core/state";
import { cycleCount, cycleOf, type Life, livesOf } from "../../src/core/timeline";
import { BUFFER_BYTES, type Buffer } from "./parameters_view";
import { lanesTable, memoryTable, registerBoxes } from "./state_view";
import { legend, namesWidth, timelineView } from "./timeline_view";
import { activity, label, traffic } from "./words";

const TICK = 120;
const CYCLES_SHOWN: readonly (number | undefined)[] = [undefined, 1000, 250];
const MAX_ROWS = 16;

export interface Finished {
  readonly run: Run;
  readonly description: CoreDescription;
  readonly commands: readonly Command[];
  readonly buffers: readonly Buffer[];
  readonly memory: Uint8Array;
  readonly base: number;
}

const select = (name: string): HTMLSelectElement => required(`#${name}`, HTMLSelectElement);
const button = (name: string): HTMLButtonElement => required(`#${name}`, HTMLButtonElement);

export class ResultView {
  private finished: Finished | undefined;
  private lives: readonly Life[] = [];
  private cycle = 0;
  private register = 0;
  private timer: number | undefined;
  private moveCursor: (cycle: number) => void = () => undefined;
  private readonly slider = required("#cycle", HTMLInputElement);

  constructor() {
    required("#legend", HTMLElement).replaceChildren(...legend());
    this.slider.addEventListener("input", () => {
      this.pause();
      this.moveTo(Number(this.slider.value));
    });
    button("step").addEventListener("click", () => {
      this.pause();
      this.moveTo(this.cycle + this.pace);
    });
    button("back").addEventListener("click", () => {
      this.pause();
      this.moveTo(this.cycle - this.pace);
    });
    button("play").addEventListener("click", () => {
      if (this.timer === undefined) this.play();
      else this.pause();
    });
    select("jump").addEventListener("change", () => {
      this.jump(Number(select("jump").value));
    });
    for (const name of ["format", "buffer"]) {
      select(name).addEventListener("change", () => {
        this.drawState();
      });
    }
    select("zoom").addEventListener("change", () => {
      this.drawTimeline();
    });
    addEventListener("resize", () => {
      this.drawTimeline();
    });
  }

  /** Shows a run at its last cycle, where the results are. */
  show(finished: Finished): void {
    this.pause();
    this.finished = finished;
    const { run, description, commands, buffers } = finished;
    this.lives = livesOf(run, description, commands.length);
    this.register = 0;
    this.slider.max = String(Math.max(cycleCount(run) - 1, 0));
    setOptions(select("jump"), commands.map((command, index) => [String(index), label(command, index)] as const));
    setOptions(select("buffer"), buffers.map(({ name }) => [name, name] as const));
    select("buffer").value = buffers.at(-1)?.name ?? "";
    required("#result", HTMLElement).hidden = false;
    this.cycle = Number(this.slider.max);
    this.drawTimeline();
    this.moveTo(this.cycle);
  }

  private get pace(): number {
    return Number(select("pace").value);
  }

  private play(): void {
    if (this.cycle >= Number(this.slider.max)) this.moveTo(0);
    this.timer = setInterval(() => {
      this.moveTo(this.cycle + this.pace);
      if (this.cycle >= Number(this.slider.max)) this.pause();
    }, TICK);
    this.showPlaying();
  }

  private pause(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.showPlaying();
  }

  private showPlaying(): void {
    button("play").textContent = this.timer === undefined ? "Play" : "Pause";
    button("play").setAttribute("aria-pressed", String(this.timer !== undefined));
  }

  /** To the cycle in which an instruction starts, or last waits. */
  private jump(index: number): void {
    this.pause();
    const life = this.lives[index];
    const cycle = life?.waits[0]?.from ?? life?.started ?? life?.taken ?? life?.arrived;
    if (cycle !== undefined) this.moveTo(cycle, index);
  }

  private moveTo(cycle: number, index?: number): void {
    this.cycle = Math.min(Math.max(cycle, 0), Number(this.slider.max));
    this.slider.value = String(this.cycle);
    required("#cycle-text", HTMLOutputElement).textContent = `${this.cycle} of ${this.slider.max}`;
    const current = index ?? this.current();
    if (current !== undefined) select("jump").value = String(current);
    this.moveCursor(this.cycle);
    this.follow();
    this.drawState();
  }

  /** The instruction that the sequencer holds, or the one started last. */
  private current(): number | undefined {
    const held = this.lives.find(({ taken, started }) => taken !== undefined && this.cycle >= taken && (started === undefined || this.cycle <= started));
    return (held ?? this.lives.filter(({ started }) => started !== undefined && started <= this.cycle).at(-1))?.index;
  }

  /** Scrolls the picture so that the cursor is in it. */
  private follow(): void {
    const place = required("#timeline", HTMLElement);
    const line = place.querySelector("line.now");
    const x = Number(line?.getAttribute("x1") ?? 0);
    const free = place.clientWidth - namesWidth();
    if (x < place.scrollLeft || x > place.scrollLeft + free - 20) place.scrollLeft = Math.max(x - free / 3, 0);
  }

  private drawTimeline(): void {
    if (this.finished === undefined) return;
    const place = required("#timeline", HTMLElement);
    const free = Math.max(place.clientWidth - namesWidth() - 4, 120);
    const cycles = cycleCount(this.finished.run);
    const shown = CYCLES_SHOWN[Number(select("zoom").value)] ?? cycles;
    const width = Math.min(Math.max((free * cycles) / shown, free), 30_000);
    const { element, move } = timelineView(this.lives, this.finished.commands, cycles, Math.floor(width), (index) => {
      this.jump(index);
    });
    this.moveCursor = move;
    place.replaceChildren(element);
    move(this.cycle);
    this.follow();
  }

  private drawState(): void {
    const { finished } = this;
    if (finished === undefined) return;
    this.drawNow(finished);
    this.drawRegisters(finished);
    this.drawMemory(finished);
  }

  private drawNow({ run, commands }: Finished): void {
    const texts = this.lives.flatMap((life) => {
      const command = commands[life.index];
      const text = command === undefined ? undefined : activity(life, command, this.cycle, commands);
      return text === undefined ? [] : [text];
    });
    const under = this.lives.filter(({ started, done }) => started !== undefined && this.cycle >= started && (done === undefined || this.cycle <= done));
    const overlap = under.length > 1 ? [`${under.length} instructions overlap.`] : [];
    const lines = [...overlap, ...texts, traffic(cycleOf(run, this.cycle))];
    required("#now", HTMLElement).replaceChildren(html("ul", {}, ...lines.map((text) => html("li", {}, text))));
  }

  private drawRegisters({ run, description }: Finished): void {
    const state = new RegisterState(run, description, this.cycle);
    const marked = this.lives[Number(select("jump").value)];
    const place = required("#registers", HTMLElement);
    const hadFocus = place.contains(document.activeElement);
    const boxes = registerBoxes(
      state,
      (register, cycle) => this.writerOf(register, cycle),
      this.register,
      { reads: marked?.reads ?? [], write: marked?.write },
      (register) => {
        this.register = register;
        this.drawState();
      },
    );
    place.replaceChildren(...boxes);
    if (hadFocus) place.querySelector<HTMLElement>(`[data-register="${this.register}"]`)?.focus();
    required("#lanes", HTMLElement).replaceChildren(
      html("h3", {}, `Register ${this.register}`),
      lanesTable(state, this.register, select("format").value),
    );
  }

  /** The unit whose command wrote a register in a cycle. */
  private writerOf(register: number, cycle: number): string | undefined {
    return this.lives.find(
      ({ started, done, write }) =>
        write !== undefined && write.first <= register && register <= write.last && started !== undefined && started <= cycle && (done === undefined || cycle <= done),
    )?.unit;
  }

  private drawMemory({ run, buffers, memory, base }: Finished): void {
    const buffer = buffers.find(({ name }) => name === select("buffer").value);
    const place = required("#memory", HTMLElement);
    if (buffer === undefined) {
      place.replaceChildren();
      required("#buffer-text", HTMLElement).textContent = "The program has no buffer.";
      return;
    }
    const bytes = memoryAt(run, memory, base, this.cycle).subarray(buffer.address - base, buffer.address - base + BUFFER_BYTES);
    const size = buffer.type === "f16" ? 2 : 4;
    const rows = Math.min(Math.floor(BUFFER_BYTES / size / buffer.columns), MAX_ROWS);
    const beats = beatsBetween(run, this.cycle - this.pace, this.cycle + 1);
    const isMarked = (offset: number): string => {
      const hit = beats.find(({ address }) => buffer.address + offset >= address && buffer.address + offset < address + 16);
      return hit === undefined ? "" : hit.isWrite ? "written" : "read";
    };
    required("#buffer-text", HTMLElement).textContent =
      `Rows of ${buffer.columns} elements of ${buffer.type}; the first ${rows} rows. Coloured ones passed the bus in the last ${this.pace} cycles.`;
    place.replaceChildren(memoryTable(bytes, buffer.type, buffer.columns, rows, isMarked));
  }
}

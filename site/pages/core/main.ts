import "../../src/shell/shell";
import "./style.css";

import { counted, html, required } from "../../src/components/dom";
import { type Answer, bytesOf, type Command, type Contents, loadPrograms, type Program, type Question } from "../../src/core/program";
import type { Answer as CoreAnswer, Described, Question as CoreQuestion, Run } from "../../src/core/run";
import { cycleCount } from "../../src/core/timeline";
import { Stopped, WorkerClient, type WorkerState } from "../../src/workers/worker_client";
import { compareWithGolden } from "./checker";
import { BUFFER_BYTES, ParametersView } from "./parameters_view";
import { type Prepared, PROGRAMS } from "./programs";
import { type Finished, ResultView } from "./result_view";
import { causeText, label, shortName } from "./words";

const MAX_CHECKED = 10;

function button(name: string): HTMLButtonElement {
  return required(`#${name}`, HTMLButtonElement);
}

class Page {
  private readonly prepared = required("#prepared", HTMLSelectElement);
  private readonly text = required("#text", HTMLTextAreaElement);
  private readonly results = new ResultView();
  private readonly parameters: ParametersView;
  private readonly python: WorkerClient<Question, Answer>;
  private number = 0;

  constructor(
    private readonly core: WorkerClient<CoreQuestion, CoreAnswer>,
    private readonly described: Described,
    private readonly programs: Readonly<Record<string, Program>>,
  ) {
    this.parameters = new ParametersView(required("#parameters", HTMLElement), described.base);
    this.python = new WorkerClient<Question, Answer>("program_worker", (state, message) => {
      this.showState(state, message);
    });
    this.prepared.append(...PROGRAMS.map(({ id, title }) => html("option", { value: id }, title)));
    this.connect();
  }

  async open(): Promise<void> {
    const wanted = new URLSearchParams(location.hash.slice(1)).get("program");
    const found = PROGRAMS.find(({ id }) => id === wanted) ?? PROGRAMS[0];
    if (found !== undefined) await this.show(found);
  }

  private connect(): void {
    this.prepared.addEventListener("change", () => {
      const found = PROGRAMS.find(({ id }) => id === this.prepared.value);
      if (found !== undefined) void this.show(found);
    });
    required("#program", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
      void this.guarded(() => this.runProgram());
    });
    button("stop").addEventListener("click", () => {
      this.number += 1;
      this.python.stop();
      this.core.stop();
      required("#check", HTMLElement).hidden = true;
      required("#state", HTMLElement).textContent = "Stopped.";
      button("stop").disabled = true;
    });
  }

  private async show(program: Prepared): Promise<void> {
    this.prepared.value = program.id;
    this.text.value = program.text;
    required("#story", HTMLElement).textContent = program.story;
    history.replaceState(null, "", `#program=${program.id}`);
    const { parameters, variants } = this.program();
    const choices = variants.map(({ numbers }) => numbers);
    this.parameters.show(parameters, program.buffers, program.numbers, choices);
    await this.guarded(() => this.runProgram());
  }

  /** The chosen program. */
  private program(): Program {
    const file = PROGRAMS.find(({ id }) => id === this.prepared.value)?.file ?? "";
    const found = this.programs[file];
    if (found === undefined) throw new Error(`data/programs.json has no program ${file}`);
    return found;
  }

  /** The commands of the chosen program for the chosen numbers. */
  private commands(): readonly Command[] {
    const chosen = this.parameters.numbers();
    const isChosen = (numbers: Readonly<Record<string, number>>): boolean => Object.entries(chosen).every(([name, value]) => numbers[name] === value);
    return this.program().variants.find(({ numbers }) => isChosen(numbers))?.commands ?? [];
  }

  private async runProgram(): Promise<void> {
    const number = ++this.number;
    required("#check", HTMLElement).hidden = true;
    const commands = this.commands();
    const memory = await this.memory();
    button("stop").disabled = false;
    const latency = Number(required("#latency", HTMLSelectElement).value);
    const words = commands.map((command) => command.words);
    const run = (await this.core.ask({ kind: "run", memory, commands: words, latency })) as Run;
    if (number !== this.number) return;
    const { base, description } = this.described;
    const finished = { run, description, commands, buffers: this.parameters.buffers(), memory, base };
    this.showOutcome(finished);
    this.results.show(finished);
    await this.check(finished, number);
  }

  private async memory(): Promise<Uint8Array> {
    const memory = new Uint8Array(this.described.bytes);
    for (const { address, fill, type, columns } of this.parameters.buffers()) {
      const answer = (await this.python.ask({ kind: "contents", fill, type, columns, bytes: BUFFER_BYTES })) as Contents;
      memory.set(bytesOf(answer.bytes), address - this.described.base);
    }
    return memory;
  }

  private showOutcome({ run, commands }: Finished): void {
    const place = required("#outcome", HTMLElement);
    const cycles = cycleCount(run);
    const rate = Math.round(cycles / Math.max(run.milliseconds, 0.01)) * 1000;
    place.hidden = false;
    place.dataset.rate = String(rate);
    place.dataset.number = String(this.number);
    place.classList.toggle("error", run.outcome !== "done");
    const size = `${counted(commands.length, "command")} in ${counted(cycles, "clock cycle")}`;
    if (run.outcome === "done") {
      place.textContent = `The program ended: ${size}, simulated in ${run.milliseconds.toFixed(0)} ms (${rate} cycles a second).`;
    } else if (run.outcome === "unfinished") {
      place.textContent = `Stopped after ${cycles} cycles: the program did not end.`;
    } else {
      const command = commands[run.index];
      const where = command === undefined ? `Command ${run.index + 1}` : `Instruction ${label(command, run.index)}`;
      place.textContent = `${where} failed: ${causeText(run.cause)}. The core stopped after ${cycles} cycles; no later instruction was started.`;
    }
  }

  private async check(finished: Finished, number: number): Promise<void> {
    const place = required("#check", HTMLElement);
    const { run, commands } = finished;
    const products = commands.filter((command) => shortName(command) === "multiply").length;
    if (run.outcome !== "done") return;
    place.hidden = false;
    place.classList.remove("error");
    if (products > MAX_CHECKED) {
      place.textContent = `Not compared with golden: the page does so for programs of up to ${MAX_CHECKED} multiplies; this one has ${products}.`;
      return;
    }
    place.textContent = "Comparing with golden...";
    const verdict = await compareWithGolden(this.python, finished, (done) => {
      required("#state", HTMLElement).textContent = `Comparing with golden: ${done} of ${counted(commands.length, "command")}.`;
    });
    if (number !== this.number) return;
    place.textContent = verdict.text;
    place.classList.toggle("error", !verdict.equal);
    required("#state", HTMLElement).textContent = "Ready.";
  }

  /** Runs what may be stopped; what goes wrong is shown. */
  private async guarded(action: () => Promise<unknown>): Promise<void> {
    setBusy(true);
    required("#failure", HTMLElement).hidden = true;
    try {
      await action();
    } catch (error) {
      if (!(error instanceof Stopped)) refuse(error instanceof Error ? error.message : String(error));
    }
    setBusy(false);
  }

  private showState(state: WorkerState, message?: string): void {
    const texts: Readonly<Record<WorkerState, string>> = {
      stopped: "Stopped.",
      loading: "Loading the golden model (Python)...",
      ready: "Ready.",
      computing: "Computing...",
      failed: "Failed.",
    };
    required("#state", HTMLElement).textContent = texts[state];
    button("stop").disabled = state !== "loading" && state !== "computing";
    if (state === "failed") refuse(`Python could not run: ${message ?? ""}`);
  }
}

let pending = 0;

/** Counts what is in flight; the page is busy while anything is. */
function setBusy(busy: boolean): void {
  pending = Math.max(pending + (busy ? 1 : -1), 0);
  required("#report", HTMLElement).setAttribute("aria-busy", String(pending > 0));
}

function refuse(message: string): void {
  const failure = required("#failure", HTMLElement);
  failure.textContent = message;
  failure.hidden = false;
  required("#report", HTMLElement).setAttribute("aria-busy", "false");
}

async function start(): Promise<void> {
  if (typeof WebAssembly === "undefined" || typeof Worker === "undefined") {
    refuse("This page needs a browser with WebAssembly and workers, as Firefox, Chrome and Safari have since 2017; they may be switched off here.");
    return;
  }
  const core = new WorkerClient<CoreQuestion, CoreAnswer>("core_worker", (state, message) => {
    if (state === "failed") refuse(`The core could not run: ${message ?? ""}`);
  });
  const described = (await core.ask({ kind: "describe" })) as Described;
  await new Page(core, described, await loadPrograms()).open();
}

start().catch((error: unknown) => {
  refuse(`The page could not start: ${error instanceof Error ? error.message : String(error)}`);
});

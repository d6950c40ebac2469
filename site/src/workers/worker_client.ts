// The page's side of a worker that answers questions, one at a time, and can be stopped.

/** What the worker sends. */
export type FromWorker<Answer> =
  | { readonly kind: "ready" }
  | { readonly kind: "answer"; readonly id: number; readonly answer: Answer }
  | { readonly kind: "failure"; readonly id: number | undefined; readonly message: string };

/** What the page sends. */
export interface ToWorker<Question> {
  readonly id: number;
  readonly question: Question;
}

export type WorkerState = "stopped" | "loading" | "ready" | "computing" | "failed";

/** A question was dropped because the worker was stopped. */
export class Stopped extends Error {
  constructor() {
    super("stopped");
  }
}

interface Pending<Answer> {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

export class WorkerClient<Question, Answer> {
  private worker: Worker | undefined;
  private isReady = false;
  private nextId = 0;
  private readonly pending = new Map<number, Pending<Answer>>();

  /**
   * @param script Name of the worker's script in assets/, without its ending.
   * @param onState Called at each change of state, with a message if the worker failed.
   */
  constructor(
    private readonly script: string,
    private readonly onState: (state: WorkerState, message?: string) => void,
  ) {}

  /** Starts the worker unless it runs. */
  start(): void {
    if (this.worker !== undefined) return;
    const worker = new Worker(new URL(`assets/${this.script}.js`, document.baseURI), { type: "module" });
    worker.addEventListener("message", (event: MessageEvent<FromWorker<Answer>>) => {
      this.receive(event.data);
    });
    worker.addEventListener("error", (event) => {
      this.fail(event.message || `the script ${this.script}.js could not be loaded`);
    });
    this.worker = worker;
    this.onState("loading");
  }

  /** Sends a question; the promise rejects with {@link Stopped} if the worker is stopped before it answers. */
  ask(question: Question): Promise<Answer> {
    this.start();
    const id = this.nextId++;
    const answer = new Promise<Answer>((resolve, reject) => {
      this.pending.set(id, { resolve, reject });
    });
    const message: ToWorker<Question> = { id, question };
    this.worker?.postMessage(message);
    if (this.isReady) this.onState("computing");
    return answer;
  }

  /** Ends the worker at once; the next question starts a new one. */
  stop(): void {
    this.end(new Stopped());
    this.onState("stopped");
  }

  private receive(message: FromWorker<Answer>): void {
    if (message.kind === "failure" && message.id === undefined) {
      this.fail(message.message);
      return;
    }
    if (message.kind === "ready") {
      this.isReady = true;
    } else if (message.id !== undefined) {
      const waiting = this.pending.get(message.id);
      this.pending.delete(message.id);
      if (message.kind === "answer") waiting?.resolve(message.answer);
      else waiting?.reject(new Error(message.message));
    }
    this.onState(this.pending.size > 0 ? "computing" : "ready");
  }

  private fail(message: string): void {
    this.end(new Error(message));
    this.onState("failed", message);
  }

  private end(error: Error): void {
    this.worker?.terminate();
    this.worker = undefined;
    this.isReady = false;
    const waiting = [...this.pending.values()];
    this.pending.clear();
    for (const { reject } of waiting) reject(error);
  }
}

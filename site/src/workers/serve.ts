// The worker's side: load once, then answer questions in the order in which they come.
import type { FromWorker, ToWorker } from "./worker_client";

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * @param load Loads what the worker needs; its result answers questions.
 */
export function serve(load: () => Promise<(question: never) => unknown>): void {
  const send = (message: FromWorker<unknown>): void => {
    postMessage(message);
  };
  const loaded = load();
  loaded.then(
    () => {
      send({ kind: "ready" });
    },
    (error: unknown) => {
      send({ kind: "failure", id: undefined, message: messageOf(error) });
    },
  );
  addEventListener("message", (event: MessageEvent<ToWorker<never>>) => {
    const { id, question } = event.data;
    loaded.then(
      (answer) => {
        try {
          send({ kind: "answer", id, answer: answer(question) });
        } catch (error) {
          send({ kind: "failure", id, message: messageOf(error) });
        }
      },
      () => undefined, // Reported above, once.
    );
  });
}

import type { SharingProcess } from "./sharing.ts";

/** Clients that continuously map e-mails, each through one process, and the responses. */
export class MappingClients {
  readonly acknowledgedIds: string[] = [];
  /** Unsuccessful responses with status and body, and errors without a response. */
  readonly failures: string[] = [];
  #isOver = false;
  readonly #sending: Promise<unknown>;
  #heard: () => void = () => {};

  constructor(processes: readonly SharingProcess[], each = 4) {
    const clients = processes.flatMap((process, i) =>
      Array.from({ length: each }, (_, k) => this.#send(process, `${i}-${k}`)),
    );
    this.#sending = Promise.all(clients);
  }

  /** Resolves when this many further requests were acknowledged. */
  async waitForMore(count: number): Promise<void> {
    const target = this.acknowledgedIds.length + count;
    while (this.acknowledgedIds.length < target) {
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
    }
  }

  /** Stops the clients. Resolves when each request has its response. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#sending;
  }

  async #send(process: SharingProcess, name: string): Promise<void> {
    for (let i = 0; !this.#isOver; i += 1) {
      const id = `e${name}-${i}`;
      const failure = await process.map(id).then(
        ({ status, body }) => (status === 200 ? undefined : `${status} ${JSON.stringify(body)}`),
        (error: Error) => `no answer: ${(error.cause as Error | undefined)?.message ?? error.message}`,
      );
      if (failure === undefined) this.acknowledgedIds.push(id);
      else this.failures.push(failure);
      this.#heard();
    }
  }
}

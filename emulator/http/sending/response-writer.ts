import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { WallClock } from "../../../src/base/clock.ts";
import { onNextTurn } from "../../../src/base/timing.ts";
import { Deadlines } from "../outgoing/deadlines.ts";

/** The longest time that a body may take to arrive. */
export const unreadResponseTimeoutMs = 120_000;

interface Whole {
  readonly response: ServerResponse;
  readonly body: string | Uint8Array | undefined;
}

/**
 * Sends the responses of one listener, and checks that they are read: an unread response is held in memory for as long
 * as its caller waits.
 */
export class ResponseWriter {
  readonly #unread: Deadlines<ServerResponse>;
  #whole: Whole[] = [];
  #isLast = false;

  /** Cuts off callers that read nothing of a response for `unreadMs` of wall-clock time. */
  constructor(wall: WallClock, unreadMs: number) {
    this.#unread = new Deadlines(wall, unreadMs, (response) => response.destroy());
  }

  /**
   * Ends a response, whose head is written, with the others that are created in the same turn of the event loop. Waking
   * a reader costs the system more than a short response costs us, and a program that is awake reads the next one, too.
   */
  end(response: ServerResponse, body: string | Uint8Array | undefined): void {
    if (this.#whole.length === 0) onNextTurn(() => this.#endAll());
    this.#whole.push({ response, body });
  }

  #endAll(): void {
    const whole = this.#whole;
    this.#whole = [];
    for (const { response, body } of whole) {
      // The caller may have gone meanwhile.
      if (response.destroyed) continue;
      response.end(body);
      this.watchUnread(response);
    }
  }

  /** Cuts the connection when what was written so far is not taken in time. */
  watchUnread(response: ServerResponse): void {
    // Nearly always the system took all of it at once.
    if (!response.socket || response.socket.writableLength === 0) return;
    response.once("close", this.#unread.enter(response));
  }

  /** Resolves when more may be written, or when there is no reader left. */
  async waitForDrain(response: ServerResponse): Promise<void> {
    const leave = this.#unread.enter(response);
    const gone = new AbortController();
    const close = () => gone.abort();
    response.once("close", close);
    try {
      await once(response, "drain", { signal: gone.signal });
    } catch {
      // The caller went away; the writer notices.
    } finally {
      leave();
      response.off("close", close);
    }
  }

  /** Whether nothing else may come on the connection of a response. */
  get isLast(): boolean {
    return this.#isLast;
  }

  /** The listener closes: callers are no longer cut off, and connections are no longer held open. */
  stop(): void {
    this.#isLast = true;
    this.#unread.stop();
  }
}

/** How many requests of a connection wait for the answers to those before them. */
const waiting = new WeakMap<Socket, number>();

/**
 * Node resumes a connection whenever a response is taken, and whenever a body is read: while requests wait, it stays
 * paused.
 */
function pauseAgain(this: Socket): void {
  this.pause();
}

/**
 * Resolves when a request is the first on its connection that has no response yet. Of those that were sent ahead,
 * answers would be made and kept. No more is read until none of them waits, so no more wait than one read of the socket
 * brings.
 */
export async function waitForPipelineTurn({ socket }: IncomingMessage, response: ServerResponse): Promise<void> {
  const before = waiting.get(socket) ?? 0;
  waiting.set(socket, before + 1);
  if (before === 0) socket.on("resume", pauseAgain).pause();
  // Node gives a response its socket when all before it are sent.
  await once(response, "socket");
  const left = waiting.get(socket)! - 1;
  waiting.set(socket, left);
  if (left === 0) socket.off("resume", pauseAgain).resume();
}

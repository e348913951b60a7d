import type { showClock } from "../../../api/emulator/clock.ts";
import type { listControlWebhooks } from "../../../api/emulator/webhooks.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { describeDuration } from "../../../base/duration.ts";
import { pluralize } from "../../../base/text.ts";
import type { Context } from "../../command.ts";
import { escapeControlCharacters } from "../../output/control-characters.ts";
import { defaultColumns, measureWidth, readWindowWidth } from "../../output/line-wrapping.ts";
import { type StyledLine, stripStyles } from "../../output/styled.ts";
import { InterruptedError } from "../../process/failure.ts";
import type { InputStream } from "../../process/host.ts";
import { write } from "../../process/write.ts";

const statusSeparator = " | ";

/** A growing list of lines. Terminals also show a status line below the list. */
export class SessionScreen {
  readonly #context: Context;
  readonly #hasStatus: boolean;
  #parts: readonly string[] = [];
  /** Status line as drawn. */
  #drawn = "";
  #last = "";
  #queue: Promise<void> = Promise.resolve();

  constructor(context: Context, hasStatus: boolean) {
    this.#context = context;
    this.#hasStatus = hasStatus;
    if (!hasStatus) return;
    const { stderr } = context.host;
    const redraw = () => void this.#enqueue(async () => {});
    stderr.on("resize", redraw);
    context.onEnd(async () => {
      stderr.off("resize", redraw);
      await this.setStatus([]);
    });
  }

  print(...lines: readonly StyledLine[]): Promise<void> {
    return this.#enqueue(() => this.#context.output.print(...lines));
  }

  /**
   * Reports an event of the session. Consecutive duplicates are omitted, because several parts can detect the same
   * event. With machine-readable output, notices go to standard error.
   */
  showNotice(line: StyledLine): Promise<void> {
    const text = stripStyles(line);
    if (text === this.#last) return this.#queue;
    this.#last = text;
    return this.#context.output.format === "table" ? this.print(line) : this.#context.output.warn(line);
  }

  /** Replaces the status line. A narrow window shows only the first parts. */
  setStatus(parts: readonly string[]): Promise<void> {
    if (!this.#hasStatus) return Promise.resolve();
    this.#parts = parts;
    return this.#enqueue(async () => {});
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.#queue.then(async () => {
      await this.#erase();
      await work();
      await this.#draw();
    });
    this.#queue = done.catch(() => {});
    return done;
  }

  /** Erases the status line, which occupies several rows after a window became narrower. */
  async #erase(): Promise<void> {
    if (this.#drawn === "") return;
    const rowsAbove = Math.ceil(measureWidth(this.#drawn) / this.#columns) - 1;
    this.#drawn = "";
    await write(this.#context.host.stderr, `${rowsAbove > 0 ? `\x1b[${rowsAbove}A` : ""}\r\x1b[J`);
  }

  async #draw(): Promise<void> {
    this.#drawn = fitParts(this.#parts, this.#columns - 1);
    if (this.#drawn !== "") await write(this.#context.host.stderr, this.#drawn);
  }

  get #columns(): number {
    const { stderr, env } = this.#context.host;
    return readWindowWidth(stderr, env) ?? defaultColumns;
  }
}

function fitParts(parts: readonly string[], columns: number): string {
  let line = "";
  for (const part of parts.map(escapeControlCharacters)) {
    const longer = line === "" ? part : `${line}${statusSeparator}${part}`;
    if (measureWidth(longer) <= columns) line = longer;
  }
  return line;
}

type RawInput = InputStream & { setRawMode?(isRaw: boolean): unknown };

const ctrlC = "\x03";
const ctrlD = "\x04";

/**
 * Reads single keys until the run ends or the terminal closes. Resolves at `q` and Ctrl-D. Rejects with
 * InterruptedError at Ctrl-C, because a terminal in raw mode sends no signal.
 */
export async function readKeys({ host, signal }: Context, onKey: (key: string) => void): Promise<void> {
  const stdin: RawInput = host.stdin;
  const setRaw = (isRaw: boolean) => {
    // A closed terminal rejects a change of its mode.
    if (!stdin.destroyed) stdin.setRawMode?.(isRaw);
  };
  let onData: (chunk: Buffer | string) => void = () => {};
  let onEnd = () => {};
  try {
    setRaw(true);
    await new Promise<void>((resolve, reject) => {
      onData = (chunk) => {
        const text = String(chunk);
        // Arrows and other multi-byte keys have no function here.
        if (text.startsWith("\x1b")) return;
        for (const key of text) {
          if (key === ctrlC) return reject(new InterruptedError());
          if (key === ctrlD || key === "q") return resolve();
          onKey(key);
        }
      };
      onEnd = resolve;
      if (signal.aborted) return resolve();
      signal.addEventListener("abort", onEnd, { once: true });
      stdin.on("data", onData).once("end", onEnd).once("close", onEnd).resume();
    });
  } finally {
    signal.removeEventListener("abort", onEnd);
    stdin.off("data", onData).off("end", onEnd).off("close", onEnd).pause();
    setRaw(false);
  }
}

type EmulatorClock = ResultOf<typeof showClock>;
export type SessionWebhooks = ResultOf<typeof listControlWebhooks>;

/** Clock of an emulator, with the monotonic time of its observation. */
export interface ObservedClock extends EmulatorClock {
  readonly seenAt: number;
}

/** Returns virtual milliseconds at a monotonic time of this machine. */
function getVirtualNow({ now, mode, speed, seenAt }: ObservedClock, at: number): number {
  return Date.parse(now) + (mode === "real" ? (at - seenAt) * speed : 0);
}

/** Formats the parts of the status line, most important first, because a narrow window omits the last parts. */
export function formatStatusParts(
  clock: ObservedClock | undefined,
  webhooks: SessionWebhooks,
  isAppDown: boolean,
  at: number,
) {
  if (clock === undefined) return ["? keys", "q quits"];
  const now = getVirtualNow(clock, at);
  const failing = webhooks.filter(({ status, failure_count }) => status !== "ACTIVE" || failure_count > 0).length;
  const dueMs = clock.next_due === null ? undefined : Math.max(0, Date.parse(clock.next_due) - now);
  const due = dueMs === undefined ? "nothing due" : `next due in ${describeDuration(Math.ceil(dueMs / 1_000) * 1_000)}`;
  return [
    `virtual ${new Date(now).toISOString().slice(11, 19)}`,
    ...(failing > 0 ? [`${pluralize(failing, "webhook")} failing`] : []),
    due,
    ...(isAppDown ? ["app down"] : []),
    "? keys",
    "q quits",
    `virtual date ${new Date(now).toISOString().slice(0, 10)}`,
  ];
}

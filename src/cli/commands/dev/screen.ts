import { on } from "node:events";
import type { showClock } from "../../../api/emulator/clock.ts";
import type { listControlWebhooks } from "../../../api/emulator/webhooks.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { describeDuration } from "../../../base/quantities.ts";
import { pluralize } from "../../../base/text.ts";
import type { Context } from "../../command.ts";
import { escapeControlCharacters } from "../../output/control-characters.ts";
import { defaultColumns, measureWidth, readWindowWidth, type StyledLine, stripStyles } from "../../output/styled.ts";
import { InterruptedError } from "../../process/failure.ts";
import { type InputStream, write } from "../../process/host.ts";

export type SessionScreen = ReturnType<typeof createSessionScreen>;

/** Creates a growing list of lines. Terminals also show a status line below the list. */
export function createSessionScreen(context: Context, hasStatus: boolean) {
  const { output, host } = context;
  let statusParts: readonly string[] = [];
  /** Status line as drawn. */
  let drawnText = "";
  let lastNotice = "";
  let queue: Promise<void> = Promise.resolve();

  const getColumns = () => readWindowWidth(host.stderr, host.env) ?? defaultColumns;

  /** Erases the status line, which can span several rows after the window became narrower. */
  async function erase(): Promise<void> {
    if (drawnText === "") return;
    const rowsAbove = Math.ceil(measureWidth(drawnText) / getColumns()) - 1;
    drawnText = "";
    await write(context.host.stderr, `${rowsAbove > 0 ? `\x1b[${rowsAbove}A` : ""}\r\x1b[J`);
  }

  async function draw(): Promise<void> {
    drawnText = fitParts(statusParts, getColumns() - 1);
    if (drawnText !== "") await write(context.host.stderr, drawnText);
  }

  function enqueue(work?: () => Promise<void>): Promise<void> {
    const task = queue.then(async () => {
      await erase();
      await work?.();
      await draw();
    });
    queue = task.catch(() => {});
    return task;
  }

  const print = (...lines: readonly StyledLine[]): Promise<void> => enqueue(() => output.print(...lines));

  /** Replaces the status line. A narrow window shows only the first parts. */
  async function setStatus(parts: readonly string[]): Promise<void> {
    if (!hasStatus) return;
    statusParts = parts;
    await enqueue();
  }

  if (hasStatus) {
    const redraw = () => void enqueue();
    host.stderr.on("resize", redraw);
    context.onEnd(async () => {
      host.stderr.off("resize", redraw);
      await setStatus([]);
    });
  }

  return {
    print,
    setStatus,
    /**
     * Reports an event of the session. Consecutive duplicates are omitted, because several parts can detect the same
     * event. With machine-readable output, notices go to standard error.
     */
    showNotice(line: StyledLine): Promise<void> {
      const text = stripStyles(line);
      if (text === lastNotice) return queue;
      lastNotice = text;
      return output.format === "table" ? print(line) : output.warn(line);
    },
  };
}

const fitParts = (parts: readonly string[], columns: number): string =>
  parts.map(escapeControlCharacters).reduce((line, part) => {
    const longer = line === "" ? part : `${line} | ${part}`;
    return measureWidth(longer) <= columns ? longer : line;
  }, "");

const ctrlC = "\x03";
const ctrlD = "\x04";

/**
 * Reads single keys until the run ends or the terminal closes. Resolves at `q` and Ctrl-D. Rejects with
 * InterruptedError on Ctrl-C, because a terminal in raw mode sends no signal.
 */
export async function readKeys({ host, signal }: Context, onKey: (key: string) => void): Promise<void> {
  const stdin: InputStream & { setRawMode?(isRaw: boolean): unknown } = host.stdin;
  const setRaw = (isRaw: boolean) => {
    // A closed terminal rejects a change of its mode.
    if (!stdin.destroyed) stdin.setRawMode?.(isRaw);
  };
  setRaw(true);
  try {
    for await (const [chunk] of on(stdin.resume(), "data", { signal, close: ["end", "close"] })) {
      const text = String(chunk).toLowerCase();
      // Arrows and other multi-byte keys have no function here.
      if (text.startsWith("\x1b")) continue;
      for (const key of text) {
        if (key === ctrlC) throw new InterruptedError();
        if (key === ctrlD || key === "q") return;
        onKey(key);
      }
    }
  } catch (error) {
    // The end of the run ends the session, and so does a terminal that closes while it is read.
    const { name, code } = error as NodeJS.ErrnoException;
    if (name !== "AbortError" && code !== "EIO") throw error;
  } finally {
    stdin.pause();
    setRaw(false);
  }
}

export type SessionWebhooks = ResultOf<typeof listControlWebhooks>;

/** Clock of an emulator, with the monotonic time of its observation. */
export type ObservedClock = ResultOf<typeof showClock> & { readonly seenAt: number };

/**
 * Formats the parts of the status line, most important first, because a narrow window omits the last parts. `at` is a
 * monotonic time, from which the virtual time is computed.
 */
export function formatStatusParts(
  clock: ObservedClock | undefined,
  webhooks: SessionWebhooks,
  isAppDown: boolean,
  at: number,
) {
  if (clock === undefined) return ["? keys", "q quits"];
  const now = Date.parse(clock.now) + (clock.mode === "real" ? (at - clock.seenAt) * clock.speed : 0);
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

import type { Operation, ResultOf } from "../../api/operation.ts";
import { describeDuration } from "../../base/quantities.ts";
import { type CallArguments, CheckedCall, findShapeProblem } from "../../client/checked-call.ts";
import type { Client } from "../../client/client.ts";
import { isUnauthorized } from "../../client/errors.ts";
import { requireValidValue } from "../../client/response.ts";
import type { Context } from "../command.ts";
import { CommandFailedError } from "../process/failure.ts";

export type EventOf<O extends Operation> = ResultOf<O> extends AsyncIterable<infer One> ? One : never;

/**
 * Prints events of a control plane stream as they arrive: one line for users, or NDJSON that begins with its version
 * (DECISIONS.md, L2). Ends with the run or the emulator. Rejects if the token has ended.
 */
export async function followStream<O extends Operation>(
  context: Context,
  operation: O,
  args: CallArguments,
  file: string | undefined,
  line: (event: EventOf<O>) => string,
): Promise<undefined> {
  const { output } = context;
  const client = await context.client("emulator", { file, connections: 1 });
  // The first response must arrive in time. Later silence is not an error.
  let gap: { readonly count: number | undefined } | undefined;
  const onMissed = (count: number | undefined) => {
    gap = { count };
  };
  const response = await client.send(CheckedCall.check(operation, args), { silenceMs: 0, onMissed });
  if (output.format !== "table") await output.printDocument({ type: "version", ui: "1.0" });
  await output.note("Following (press Ctrl-C to stop)");
  const responseBody = operation.responses[200];
  const schema = responseBody?.kind === "events" ? responseBody.schema : undefined;
  for await (const value of response.value as AsyncIterable<EventOf<O>>) {
    if (gap) {
      const { count } = gap;
      gap = undefined;
      if (output.format !== "table") await output.printDocument({ type: "resync", missed: count ?? null });
      await output.note(describeDroppedEvents(count));
    }
    const shapeProblem = schema && findShapeProblem(schema, value);
    const event = requireValidValue({ ...response, value, shapeProblem });
    await output.printEvent(event, line(event));
  }
  await reportStreamEnd(context, client);
  return undefined;
}

/** Reports why a stream has ended. Rejects if the run or the token has ended. */
export async function reportStreamEnd({ output, signal }: Context, client: Client): Promise<void> {
  signal.throwIfAborted();
  await output.note((await isRunning(client)) ? "The emulator ended the stream" : "The emulator has ended");
}

/** Rejects if the emulator rejects the token, whose end also ends its streams. */
async function isRunning(client: Client): Promise<boolean> {
  // Every derived command loads this file, and few need the schemas.
  const { showClock } = await import("../../api/emulator/clock.ts");
  try {
    await client.call(showClock, {}, { retries: 0, timeoutMs: endProbeMs });
    return true;
  } catch (error) {
    if (isUnauthorized(error)) throw error;
    return false;
  }
}

const endProbeMs = 3_000;

const firstPauseMs = 200;
const maxPauseMs = 5_000;

/** Repeats a request at growing intervals of wall-clock time. Fails with exit code 75 after the timeout. */
export async function pollUntil<T>(
  { host: { wall }, signal }: Context,
  timeoutMs: number,
  goal: string,
  check: () => Promise<T | undefined>,
): Promise<T> {
  const deadline = wall.monotonicNow() + timeoutMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(maxPauseMs, pauseMs * 1.5)) {
    const response = await check();
    if (response !== undefined) return response;
    if (wall.monotonicNow() + pauseMs > deadline) {
      const message = `Timed out after ${describeDuration(timeoutMs)} waiting for ${goal}.`;
      throw new CommandFailedError("temporary", "wait_timeout", message, {
        hint: "Run the command again to keep waiting.",
      });
    }
    await wall.sleep(pauseMs, signal);
    signal.throwIfAborted();
  }
}

export const describeDroppedEvents = (count: number | undefined): string =>
  `${count ?? "Some"} dropped, because they were not read fast enough`;

import { followEvents } from "../../../api/emulator/console.ts";
import { CheckedCall } from "../../../client/checked-call.ts";
import type { Context } from "../../command.ts";
import type { EventOf } from "../../connection/follow.ts";

export type SessionEvent = EventOf<typeof followEvents>;

/** Interval of checks for a restarted emulator. */
const retryMs = 500;

/** Emits the events of this folder's emulator until the run ends, across restarts. */
export async function followEmulator(context: Context, onEvent: (event: SessionEvent) => void): Promise<void> {
  const { signal, host } = context;
  while (!signal.aborted) {
    // The webhook watch reports that the emulator has ended.
    await followOnce(context, onEvent).catch(() => {});
    await host.wall.sleep(retryMs, signal);
  }
}

async function followOnce(context: Context, onEvent: (event: SessionEvent) => void): Promise<void> {
  const client = await context.client("emulator", { connections: 1 });
  const call = CheckedCall.check(followEvents);
  const { value } = await client.send(call, { signal: context.signal, silenceMs: 0, retries: 0 });
  for await (const event of value as AsyncIterable<SessionEvent>) onEvent(event);
}

import { fieldsOf } from "../../../base/object.ts";
import type { Context } from "../../command.ts";
import type { SavedDelivery } from "./saved-deliveries.ts";

/** A delivery with where it came to, and what was answered. */
interface AnsweredDelivery extends SavedDelivery {
  readonly path: string;
  readonly status: number;
}

/** Adds webhooks to a corpus. */
export interface WebhookRecording {
  /** Resolves with the name of the file. */
  add(activity: string | undefined, delivery: AnsweredDelivery): Promise<string>;
}

/** The corpus that is recorded in this folder; undefined: none is there. */
export async function recordingIn(folder: string, context: Context): Promise<WebhookRecording | undefined> {
  const { joinRecording } = await import("../../verify/open-recorder.ts");
  const recorder = await joinRecording(context, folder);
  if (!recorder) return undefined;
  return {
    async add(activity, { path, headers, body, status }) {
      const request = { method: "POST", target: path, headers: Object.entries(headers), body };
      const response = { status, headers: [], body: Buffer.alloc(0) };
      const at = await serviceTime(context);
      return recorder.add({
        callee: "receiver",
        operation: activity ?? "UNKNOWN",
        at,
        durationMs: 0,
        request,
        response,
      });
    },
  };
}

/** Virtual time, where the webhook comes from an emulator: its requests are recorded with that. */
async function serviceTime(context: Context): Promise<number> {
  const { isEmulator } = await import("../../connection/is-emulator.ts");
  if (!(await isEmulator(context))) return context.host.wall.now();
  const client = await context.client("emulator");
  const { showClock } = await import("../../../api/emulator/clock.ts");
  const { now } = fieldsOf(await client.call(showClock, {}));
  const time = Date.parse(String(now));
  return Number.isNaN(time) ? context.host.wall.now() : time;
}

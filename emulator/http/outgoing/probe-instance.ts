import { Agent } from "undici";
import type { WallClock } from "../../../src/base/clock.ts";
import { fieldsOf, tryParseJson } from "../../../src/base/object.ts";
import { timedOut, withTimeout } from "../../../src/base/with-timeout.ts";
import { PostExchange, type PostOutcome } from "./post-exchange.ts";

const patienceMs = 2_000;

/** The instance id of what answers `ready` at that URL; undefined when nothing of ours does. Rejects on silence. */
export async function probeInstanceId(url: string, wall: WallClock): Promise<string | undefined> {
  if (!URL.canParse(url)) return undefined;
  // Not by fetch: tests replace it, and environments with the globals of a browser have none, or one that minds origins.
  const agent = new Agent({ connections: 1, headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 0 } });
  try {
    const asked = new Promise<PostOutcome>((resolve) => {
      const { origin } = new URL(url);
      agent.dispatch({ origin, path: "/_emulator/ready", method: "GET" }, new PostExchange(resolve));
    });
    const answered = await withTimeout(wall, patienceMs, asked);
    if (answered === timedOut) throw new Error(`No response from ${url} within ${patienceMs} ms`);
    if ("cause" in answered) return undefined;
    const { instance_id } = fieldsOf(tryParseJson(answered.body.toString()));
    return typeof instance_id === "string" ? instance_id : undefined;
  } finally {
    await agent.destroy();
  }
}

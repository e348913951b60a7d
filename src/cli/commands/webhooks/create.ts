import { fieldsOf } from "../../../base/object.ts";
import { type Context, command } from "../../command.ts";
import { call } from "../../derived.ts";
import { refuseRealService } from "./why.ts";

export const webhooksCreate = command({
  words: ["webhooks", "create"],
  summary: "Subscribe a receiver to activities",
  description: "Of an emulator that may not send to the address, it says so.",
  extendsDerived: true,
  positionals: [],
  flags: [],
  examples: [],
  async run(input, context, spec) {
    const prepared = await call(spec!, input, context);
    if (prepared === "dry-run") return undefined;
    const { id, url } = fieldsOf((await prepared.send()).value);
    const why = await whyForbidden(id, url, context).catch(() => undefined);
    if (why) await context.output.warn(`warning: nothing will be sent to it: ${why}`);
    return undefined;
  },
});

/** Why an emulator never sends to that subscription; undefined where it does, and of a service that is none. */
async function whyForbidden(id: unknown, url: unknown, context: Context): Promise<string | undefined> {
  const { isOnThisMachine } = await import("../../connection/emulator-access.ts");
  if (isOnThisMachine(String(url))) return undefined;
  await refuseRealService(undefined, context);
  const { listControlWebhooks } = await import("../../../api/emulator/webhooks.ts");
  const client = await context.client("emulator", {});
  const all = await client.call(listControlWebhooks, {}, { signal: context.signal, retries: 0, timeoutMs: 2_000 });
  return all.find((one) => one.id === id && one.url === url)?.forbidden ?? undefined;
}

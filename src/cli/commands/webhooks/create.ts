import { listControlWebhooks } from "../../../api/emulator/webhooks.ts";
import { toFields } from "../../../base/object.ts";
import { ServiceError } from "../../../client/errors.ts";
import { isOnThisMachine } from "../../../files/machine.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { openEmulatorClient } from "../../connection/target.ts";
import { explainRejectedAddress } from "../../parse/values.ts";
import { PartialFailureError } from "../../process/failure.ts";
import { prepareRequest } from "../../runtime/derived-command.ts";

const webhooksCreate = defineCommand({
  words: ["webhooks", "create"],
  description: "Warns if the emulator may not send to the address.",
  extendsDerived: true,
  async run(input, context, spec) {
    const request = await prepareRequest(spec!, input, context);
    if (request === "dry-run") return undefined;
    const { value } = await request.send().catch((error: unknown) => {
      throw withReason(error, toFields(request.call.args.body).url);
    });
    const { id, url } = toFields(value);
    const reason = await explainForbidden(id, url, context).catch(() => undefined);
    if (reason) await context.output.warn(`warning: the emulator will not send to this address: ${reason}`);
  },
});

/** Adds the reason to a rejected address, because the service has one message for all invalid addresses. */
function withReason(error: unknown, url: unknown): unknown {
  const isAddressRejected =
    error instanceof ServiceError && error.status === 400 && error.problem.message.startsWith("url: ");
  const hint = isAddressRejected && typeof url === "string" ? explainRejectedAddress(url) : undefined;
  return hint === undefined ? error : new PartialFailureError(error, [], { hint });
}

/** Explains why an emulator never sends to that webhook. Returns undefined if it sends, and for a real service. */
async function explainForbidden(id: unknown, url: unknown, context: Context): Promise<string | undefined> {
  if (isOnThisMachine(String(url))) return undefined;
  const client = await openEmulatorClient(undefined, context);
  const all = await client.call(listControlWebhooks, {}, { retries: 0, timeoutMs: 2_000 });
  return all.find((webhook) => webhook.id === id && webhook.url === url)?.forbidden ?? undefined;
}

export const commands: readonly Command[] = [webhooksCreate];

import { showHmacKey } from "../../../api/contracts/webhooks.ts";
import { showClock } from "../../../api/emulator/clock.ts";
import type { Context } from "../../command.ts";
import {
  openWebhookReceiver,
  type ReceivedWebhookRequest,
  type WebhookReceiver,
} from "../../connection/webhook-receiver.ts";
import {
  chooseResponse,
  type HandledDelivery,
  openDeliverySender,
  type VerifiedDelivery,
  verifyReceivedDelivery,
} from "../webhooks/forwarding.ts";

/** Opens the receiver of a session. It verifies and forwards each delivery, and returns the app's response. */
export async function openSessionReceiver(
  { forwardTo, extraHeaders }: { forwardTo: string | undefined; extraHeaders: Readonly<Record<string, string>> },
  onDelivery: (delivery: HandledDelivery) => Promise<void>,
  context: Context,
): Promise<WebhookReceiver> {
  const poster = forwardTo === undefined ? undefined : await openDeliverySender(context);
  let key = await fetchKey(context);
  let count = 0;

  async function verify(request: ReceivedWebhookRequest): Promise<VerifiedDelivery> {
    const facts = { number: count, nowMs: context.host.wall.now() };
    const verified = await verifyReceivedDelivery(request, { ...facts, key });
    if (verified.reason !== "mismatch") return verified;
    // A replaced state has a different key.
    key = await fetchKey(context).catch(() => key);
    return verifyReceivedDelivery(request, { ...facts, key });
  }

  const receiver = await openWebhookReceiver({
    async respond(post) {
      count += 1;
      const arrivedAt = fetchTime(context);
      const verified = await verify(post);
      const headers = { ...post.headers, ...extraHeaders };
      const forwardResult = await poster?.post(forwardTo!, { body: post.body, headers });
      await onDelivery({ ...verified, at: (await arrivedAt) ?? verified.at, file: null, forwardResult });
      return chooseResponse(verified, forwardResult);
    },
  });
  context.onEnd(() => receiver.close());
  return receiver;
}

async function fetchKey(context: Context): Promise<string> {
  const client = await context.client("contracts", { connections: 1 });
  return (await client.call(showHmacKey)).hmac_key;
}

/** Returns the virtual time, as in requests and attempts of a session, or undefined if the emulator has just ended. */
async function fetchTime(context: Context): Promise<string | undefined> {
  const client = await context.client("emulator", { connections: 1 }).catch(() => undefined);
  const clock = await client?.call(showClock, {}, { retries: 0 }).catch(() => undefined);
  return clock?.now;
}

import demo from "../../../../../fixtures/seeds/demo.json" with { type: "json" };
import type { Activity } from "../../../../api/activities.ts";
import { createWebhook } from "../../../../api/contracts/webhooks.ts";
import { fireActivity } from "../../../../api/emulator/activities.ts";
import { makeSessionCode } from "../../../../api/emulator/console.ts";
import { recordDelivery, showDelivery } from "../../../../api/emulator/deliveries.ts";
import { addFault } from "../../../../api/emulator/faults.ts";
import { failuresUntilDisabled, specifiedOutageMs } from "../../../../api/webhook-retries.ts";
import { toFields } from "../../../../base/object.ts";
import { createClient } from "../../../../client/client.ts";
import type { Context } from "../../../command.ts";
import type { EmulatorAccess } from "../../../connection/emulator/emulator-access.ts";
import { toStartError } from "../../../connection/emulator/start-errors.ts";
import { openDirectTransport } from "../../../connection/http.ts";
import type { ReceiverExchange } from "./check.ts";
import { createDeliveryFactory, maxResponseMs } from "./delivery.ts";

/** The emulator of a run, which provides the events and the environment variables of the receiver. */
export type CertificationEmulator = Awaited<ReturnType<typeof startCertificationEmulator>>;

/** The emulator drops all attempts except the last one before it disables the webhook. */
const maxDroppedAttempts = failuresUntilDisabled - 1;

/** Starts a deterministic emulator in this process. The emulator ends with the run. */
export async function startCertificationEmulator(
  { url, activity, key }: { readonly url: string; readonly activity: Activity; readonly key: string | undefined },
  context: Context,
) {
  const { startEmulator } = await import("../../../../../emulator/index.ts");
  const emulator = await startEmulator({
    deterministic: true,
    clock: { mode: "manual" },
    seed: createSeed(key),
    webhookAllow: [new URL(url).host],
    webhookResponseTimeoutMs: maxResponseMs,
  }).catch((error: Error) => {
    throw toStartError(error, {});
  });
  context.onEnd(() => emulator.close({ signal: context.forceSignal }));
  const { routerUrl, token, clusters } = emulator;
  const { url: baseUrl, clientId, clientSecret, hmacKey } = clusters[0]!;
  const client = createClient({
    transport: await openDirectTransport(),
    baseUrls: { contracts: baseUrl, emulator: routerUrl },
    credentials: { clientId, clientSecret, controlToken: token },
  });
  context.onEnd(() => client.close());
  const { payload } = await client.call(fireActivity, { body: { activity, preview: true } });
  const deliveries = createDeliveryFactory(payload!, key ?? hmacKey!, context.host.wall);

  let webhook: number | undefined;
  /** Subscribes the receiver once and returns the ID of its webhook. Calls must not overlap. */
  async function subscribe(): Promise<number> {
    const body = { title: "certify", url, only_for_activities: [activity] };
    webhook ??= (await client.call(createWebhook, { body })).id;
    return webhook;
  }

  let recording: Promise<void> = Promise.resolve();

  return {
    access: emulator as EmulatorAccess,
    deliveries,

    /** Subscribes the receiver to the emulator, drops the first attempts, and advances the clock past all attempts. */
    async retryLate(event: string): Promise<ReceiverExchange> {
      // The earlier deliveries must have the virtual time before the clock advance.
      await recording;
      await client.call(addFault, { body: { direction: "outgoing", effect: "drop", count: maxDroppedAttempts } });
      await subscribe();
      const body = { activity, payload: toFields(JSON.parse(event)), wait: true };
      const triggerResult = await client.call(fireActivity, { body });
      await emulator.clock.advance({ by: specifiedOutageMs });
      const delivery = await client.call(showDelivery, { params: { id: triggerResult.deliveries[0]! } });
      // The status text explains why there was no attempt.
      const notAttempted = { code: "not_attempted", message: delivery.status_text };
      const { status, error, duration_ms, response_body } = delivery.attempts.at(-1) ?? { error: notAttempted };
      return {
        delivery: deliveries.sign(delivery.request_body),
        response: {
          status: status ?? undefined,
          error: error
            ? { code: error.code === "response_timeout" ? "timeout" : "unreachable", message: error.message }
            : undefined,
          durationMs: duration_ms ?? 0,
          body: response_body ?? "",
        },
      };
    },

    /** Adds a delivery of this process to the deliveries of the console. */
    record(label: string, { delivery, response }: ReceiverExchange): void {
      const { status = null, error, durationMs: duration_ms } = response;
      recording = recording.then(async () => {
        const body = {
          webhook: await subscribe(),
          activity,
          label,
          headers: Object.fromEntries(delivery.headers),
          body: delivery.body.toString("utf8"),
          status,
          ...(error && { error }),
          duration_ms,
          ...(status !== null && { response_body: response.body }),
        };
        await client.call(recordDelivery, { body });
      });
      // Errors are irrelevant if the run ends before the console is opened.
      void recording.catch(() => {});
    },

    /** Creates a URL that signs one browser in to the console. */
    async openConsole(): Promise<string> {
      await recording;
      await subscribe();
      return (await client.call(makeSessionCode)).url;
    },
  };
}

/** Creates the demo seed with a given key. Without one, the emulator derives the key. */
function createSeed(hmac_key: string | undefined): object {
  const [first, ...others] = demo.workspaces;
  return { ...demo, workspaces: [{ ...first, ...(hmac_key !== undefined && { hmac_key }) }, ...others] };
}

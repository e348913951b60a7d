import { listControlWebhooks } from "../../api/emulator/webhooks.ts";
import type { ResultOf } from "../../api/operation.ts";
import type { Client } from "../../client/client.ts";

type Webhook = ResultOf<typeof listControlWebhooks>[number];

interface Waiting {
  readonly webhook_id: number;
  readonly outcome: string;
}

/** The disabled webhooks of deliveries that wait for an attempt, which will be skipped (DECISIONS.md, C18). */
export async function findDisabledWebhooks(
  client: Client,
  deliveries: readonly Waiting[],
  signal: AbortSignal,
): Promise<readonly Webhook[]> {
  const waiting = deliveries.filter(({ outcome }) => outcome === "waiting" || outcome === "retrying");
  if (waiting.length === 0) return [];
  const ids = new Set(waiting.map(({ webhook_id }) => webhook_id));
  const all = await client.call(listControlWebhooks, {}, { signal });
  return all.filter(({ id, status }) => ids.has(id) && status !== "ACTIVE");
}

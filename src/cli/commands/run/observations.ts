import { listControlContracts } from "../../../api/emulator/contracts.ts";
import { listDeliveries } from "../../../api/emulator/deliveries.ts";
import { showTrace } from "../../../api/emulator/traces.ts";
import { listControlWebhooks } from "../../../api/emulator/webhooks.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { ServiceError } from "../../../client/errors.ts";
import type { ScenarioEnvironment } from "./scenario-environment.ts";

/** Observed delivery in the form of expectations. */
export type ObservedDelivery = ReturnType<typeof toObservedDelivery>;

type ListedDelivery = ResultOf<typeof listDeliveries>["items"][number];

/** Lists all deliveries, oldest first. */
export async function listObservedDeliveries(environment: ScenarioEnvironment): Promise<readonly ObservedDelivery[]> {
  const { client } = environment;
  const names = new Map((await listWebhooks(environment)).map(({ name, id }) => [id, name]));
  const { items } = await client.call(listDeliveries, { query: { limit: 500 } });
  return items.map((item) => toObservedDelivery(item, names.get(item.webhook_id) ?? String(item.webhook_id))).reverse();
}

function toObservedDelivery({ activity, composite_id, outcome, attempts }: ListedDelivery, to: string) {
  const start = Date.parse(attempts[0]?.at ?? "");
  return {
    to,
    activity,
    contract: composite_id,
    outcome,
    attempts: attempts.length,
    responses: listResponses(attempts),
    minutes: attempts.map(({ at }) => Math.round((Date.parse(at) - start) / 60_000)),
  };
}

/** Lists the result of each attempt: a status or an error code. */
export const listResponses = (attempts: ListedDelivery["attempts"]): (number | string)[] =>
  attempts.map(({ status, error }) => status ?? error?.code ?? "no response");

export async function listObservedActivities({ client }: ScenarioEnvironment): Promise<readonly string[]> {
  const activities = new Map<number, string>();
  const follow = async (ref: string) => {
    const { nodes } = await client.call(showTrace, { params: { ref } });
    for (const { id, kind, what } of nodes) {
      if (kind === "event") activities.set(Number(id.split(":")[1]), what.split(" ")[0]!);
    }
  };
  const { items } = await client.call(listControlContracts, { query: { limit: 100 } });
  for (const { composite_id } of items) await follow(composite_id);
  // Traces of contracts do not include activities of counterparties.
  for (let number = 1; ; number += 1) {
    if (activities.has(number)) continue;
    try {
      await follow(`event:${number}`);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (number > Math.max(0, ...activities.keys())) break;
    }
  }
  return [...activities].sort(([a], [b]) => a - b).map(([, activity]) => activity);
}

export async function listObservedWebhooks(
  environment: ScenarioEnvironment,
): Promise<Readonly<Record<string, string>>> {
  return Object.fromEntries((await listWebhooks(environment)).map(({ name, status }) => [name, status]));
}

/** Finds the webhooks of the story's receivers, by the ID that a step created or by the receiver's URL. */
async function listWebhooks({ client, receivers }: ScenarioEnvironment) {
  const all = await client.call(listControlWebhooks);
  return [...receivers].flatMap(([name, { webhook, url }]) => {
    const webhookRow = all.find((candidate) =>
      webhook === undefined ? candidate.url === url : candidate.id === webhook,
    );
    const id = webhookRow?.id ?? webhook;
    return id === undefined ? [] : [{ name, id, status: webhookRow?.status ?? "DELETED" }];
  });
}

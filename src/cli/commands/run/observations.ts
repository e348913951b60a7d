import { listControlContracts } from "../../../api/emulator/contracts.ts";
import { listDeliveries } from "../../../api/emulator/deliveries.ts";
import { showTrace } from "../../../api/emulator/traces.ts";
import { listControlWebhooks } from "../../../api/emulator/webhooks.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { ServiceError } from "../../../client/errors.ts";
import type { ScenarioStage } from "./stage.ts";

/** Observed delivery in the form of expectations. */
export type ObservedDelivery = ReturnType<typeof toObservedDelivery>;

type ListedDelivery = ResultOf<typeof listDeliveries>["items"][number];

/** Lists all deliveries, oldest first. */
export async function listObservedDeliveries(stage: ScenarioStage): Promise<readonly ObservedDelivery[]> {
  const { client, signal } = stage;
  const names = new Map((await listWebhooks(stage)).map(({ name, id }) => [id, name]));
  const { items } = await client.call(listDeliveries, { query: { limit: 500 } }, { signal });
  return items.map((one) => toObservedDelivery(one, names.get(one.webhook_id) ?? String(one.webhook_id))).reverse();
}

function toObservedDelivery({ activity, composite_id, outcome, attempts }: ListedDelivery, to: string) {
  const start = Date.parse(attempts[0]?.at ?? "");
  return {
    to,
    activity,
    contract: composite_id,
    outcome,
    attempts: attempts.length,
    answers: listAnswers(attempts),
    minutes: attempts.map(({ at }) => Math.round((Date.parse(at) - start) / 60_000)),
  };
}

/** Lists the result of each attempt: a status or an error code. */
export const listAnswers = (attempts: ListedDelivery["attempts"]): (number | string)[] =>
  attempts.map(({ status, error }) => status ?? error?.code ?? "no answer");

export async function listObservedActivities({ client, signal }: ScenarioStage): Promise<readonly string[]> {
  const found = new Map<number, string>();
  const follow = async (ref: string) => {
    const { nodes } = await client.call(showTrace, { params: { ref } }, { signal });
    for (const { id, kind, what } of nodes) {
      if (kind === "event") found.set(Number(id.split(":")[1]), what.split(" ")[0]!);
    }
  };
  const { items } = await client.call(listControlContracts, { query: { limit: 100 } }, { signal });
  for (const { composite_id } of items) await follow(composite_id);
  // Traces of contracts do not include activities of counterparties.
  for (let number = 1; ; number += 1) {
    if (found.has(number)) continue;
    try {
      await follow(`event:${number}`);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (number > Math.max(0, ...found.keys())) break;
    }
  }
  return [...found].sort(([one], [other]) => one - other).map(([, activity]) => activity);
}

export async function listObservedWebhooks(stage: ScenarioStage): Promise<Readonly<Record<string, string>>> {
  return Object.fromEntries((await listWebhooks(stage)).map(({ name, status }) => [name, status]));
}

/** Finds the webhooks of the story's receivers, by the ID that a step created or by the receiver's URL. */
async function listWebhooks({ client, receivers, signal }: ScenarioStage) {
  const all = await client.call(listControlWebhooks, {}, { signal });
  return [...receivers].flatMap(([name, { webhook, url }]) => {
    const found = all.find((one) => (webhook === undefined ? one.url === url : one.id === webhook));
    const id = found?.id ?? webhook;
    return id === undefined ? [] : [{ name, id, status: found?.status ?? "DELETED" }];
  });
}

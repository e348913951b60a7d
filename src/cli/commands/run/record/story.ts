import { Document, isScalar, visit } from "yaml";
import { formatDuration } from "../../../../base/duration.ts";
import { toFields } from "../../../../base/object.ts";
import { pluralize } from "../../../../base/text.ts";
import { listResponses } from "../observations.ts";
import { contractActions, type StepKind } from "../schema.ts";
import type { RecordedAction, RecordingGoal } from "./history.ts";
import { getResource, mapInput } from "./links.ts";

/** Pauses below this limit are not significant. */
const minPauseMs = 1_000;

/**
 * Returns the pause between two times. It is rounded up to whole seconds, plus one second, so that all due entries have
 * run. Returns 0 for a short pause.
 */
export const getPauseMs = (from: number, to: number): number =>
  to - from < minPauseMs ? 0 : (Math.ceil((to - from) / 1_000) + 1) * 1_000;

interface RecordedStep {
  readonly kind: Exclude<StepKind, "for each">;
  readonly fields: Readonly<Record<string, unknown>>;
}

export function createStoryStep(
  { operation, params, query, body, webhook }: RecordedAction,
  receiver: string,
): RecordedStep {
  if (webhook) {
    const responses = webhook.responses.length === 1 ? webhook.responses[0] : webhook.responses;
    const subscribe = toFields(body).only_for_activities;
    return { kind: "receiver", fields: { receiver, responses, subscribe } };
  }
  if (operation.id === "faults.add") return { kind: "fault", fields: { fault: body } };
  const act = contractActions.find((action) => operation.id === `emulator-contracts.${action}`);
  if (act) {
    const { email = "next", note } = toFields(body);
    return { kind: "as", fields: { as: email, [act]: params.id, ...(note === undefined ? {} : { note }) } };
  }
  const parts = Object.entries({ params, query }).filter(([, part]) => Object.keys(part).length > 0);
  const input = { ...Object.fromEntries(parts), ...(body === undefined ? {} : { body }) };
  return { kind: "call", fields: { call: operation.id, ...input } };
}

/** Formats the expected delivery without the name of its contract. */
export const toExpectedDelivery = ({ activity, outcome, attempts }: NonNullable<RecordingGoal["delivery"]>) => ({
  activity,
  outcome,
  responses: listResponses(attempts),
});

/** Formats recorded requests as a scenario file. The file expects the outcome of the last request. */
export function formatStory(
  { action: goalAction, at, delivery }: RecordingGoal,
  actions: readonly RecordedAction[],
  { requests, seed }: { readonly requests: number; readonly seed: string | undefined },
): string {
  const { references, saved, receivers } = nameResults(actions);
  const steps: Record<string, unknown>[] = [];
  const pause = (from: number, to: number) => {
    const ms = getPauseMs(from, to);
    if (ms > 0) steps.push({ advance: formatDuration(ms) });
  };
  for (const [i, action] of actions.entries()) {
    pause(actions[i - 1]?.at ?? action.at, action.at);
    const named = mapInput(action, (_, leaf) => references.get(leaf) ?? leaf);
    const { status, failure } = action;
    steps.push({
      ...createStoryStep(named, receivers.get(action.id) ?? "").fields,
      ...(saved.has(action.id) && { save: saved.get(action.id) }),
      ...(!delivery && action.id === goalAction.id && { expect: { status, ...(failure !== null && { failure }) } }),
    });
  }
  if (delivery) {
    pause(actions.at(-1)!.at, at);
    const to = receivers.get(goalAction.id);
    steps.push({ expect: { deliveries: [{ to, ...toExpectedDelivery(delivery) }] } });
  }
  const subject = delivery ? `the delivery of ${delivery.activity}` : goalAction.operation.id;
  const document = new Document({ name: `Causes of ${subject}`, ...(seed !== undefined && { seed }), steps });
  document.commentBefore = ` Recorded by svc run --record: ${actions.length} of ${pluralize(requests, "request")} kept.`;
  visit(document, {
    Seq(_, list) {
      if (list.items.every(isScalar)) list.flow = true;
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: true });
}

/** Creates names for the values that later requests need: `contract`, then `contract2`. */
function nameResults(actions: readonly RecordedAction[]) {
  /** References by name, by the reference of the replay. */
  const references = new Map<unknown, string>();
  /** Names and paths of the saved values of each request. */
  const saved = new Map<number, Record<string, string>>();
  const usedNames = new Set<string>();
  const findFreeName = (suggestedName: string): string => {
    let name = suggestedName;
    for (let number = 2; usedNames.has(name); number += 1) name = `${suggestedName}${number}`;
    usedNames.add(name);
    return name;
  };
  const receivers = new Map(
    actions.flatMap(({ id, webhook }) => (webhook ? [[id, findFreeName("receiver")] as const] : [])),
  );
  const nameReference = (reference: string, from: number, path: string) => {
    const { id, webhook, operation } = actions.find(({ id }) => id === from)!;
    if (webhook) return void references.set(reference, `$\{${receivers.get(id)}.webhook}`);
    const name = findFreeName(getResource(operation).replace(/s$/, "").replaceAll("-", "_"));
    saved.set(id, { ...saved.get(id), [name]: path });
    references.set(reference, `$${name}`);
  };
  for (const action of actions)
    mapInput(action, (_, leaf) => {
      const [reference, from, path = ""] = /^\$\{r(\d+)\.([^{}]*)\}$/.exec(String(leaf)) ?? [];
      if (reference !== undefined && !references.has(reference)) nameReference(reference, Number(from), path);
      return leaf;
    });
  return { references, saved, receivers };
}

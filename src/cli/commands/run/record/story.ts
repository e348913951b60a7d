import { Document, isScalar, visit } from "yaml";
import { formatDuration } from "../../../../base/duration.ts";
import { toFields } from "../../../../base/object.ts";
import { pluralize } from "../../../../base/text.ts";
import { escapeReferences, replaceLeaves } from "../references.ts";
import { contractActions, type StepKind } from "../schema.ts";
import { type RecordingGoal, toExpectedDelivery } from "./goal.ts";
import type { RecordedAction } from "./history.ts";
import type { ValueLink, ValueLinks } from "./links.ts";

/** Pauses below this limit are not significant. */
export const minPauseMs = 1_000;

/** Rounds a pause up to whole seconds and adds one second, so that all due entries have run. */
export const roundPause = (ms: number): number => (Math.ceil(ms / 1_000) + 1) * 1_000;

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
    return { kind: "receiver", fields: { receiver, answers: responses, subscribe } };
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

/** Formats recorded requests as a scenario file. The file expects the outcome of the last request. */
export function formatStory(
  goal: RecordingGoal,
  actions: readonly RecordedAction[],
  links: ValueLinks,
  { requests, seed }: { readonly requests: number; readonly seed: string | undefined },
): string {
  const names = nameValues(actions, links);
  const steps: Record<string, unknown>[] = [];
  for (const [i, action] of actions.entries()) {
    steps.push(...createPauseSteps(actions[i - 1]?.at ?? action.at, action.at));
    const step = createStoryStep(replaceNames(action, links, names), names.receivers.get(action.id) ?? "");
    const savedValues = names.saved.get(action.id);
    steps.push({
      ...step.fields,
      ...(savedValues === undefined ? {} : { save: Object.fromEntries(savedValues) }),
      ...(goal.kind === "request" && goal.action === action ? { expect: getExpectation(action) } : {}),
    });
  }
  if (goal.kind === "delivery") {
    steps.push(...createPauseSteps(actions.at(-1)!.at, goal.virtualTimeMs));
    const to = names.receivers.get(goal.webhook.id);
    steps.push({ expect: { deliveries: [{ to, ...toExpectedDelivery(goal.delivery) }] } });
  }
  const description = goal.kind === "request" ? goal.action.operation.id : `the delivery of ${goal.delivery.activity}`;
  const document = new Document({ name: `Causes of ${description}`, ...(seed === undefined ? {} : { seed }), steps });
  document.commentBefore = ` Recorded by svc run --record: ${actions.length} of ${pluralize(requests, "request")} kept.`;
  visit(document, {
    Seq(_, list) {
      if (list.items.every(isScalar)) list.flow = true;
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: true });
}

const getExpectation = ({ status, failure }: RecordedAction) => ({ status, ...(failure === null ? {} : { failure }) });

const createPauseSteps = (from: number, to: number): Record<string, unknown>[] =>
  to - from < minPauseMs ? [] : [{ advance: formatDuration(roundPause(to - from)) }];

/** Creates names for the values that later requests need: `contract`, then `contract2`. */
function nameValues(actions: readonly RecordedAction[], links: ValueLinks) {
  /** Names and paths of the saved values of each request. */
  const savedNames = new Map<number, Map<string, string>>();
  const receivers = new Map<number, string>();
  const usedNames = new Set<string>();
  const findFreeName = (suggestedName: string): string => {
    let name = suggestedName;
    for (let number = 2; usedNames.has(name); number += 1) name = `${suggestedName}${number}`;
    usedNames.add(name);
    return name;
  };
  for (const action of actions) if (action.webhook) receivers.set(action.id, findFreeName("receiver"));
  for (const { from, path } of actions.flatMap(({ id }) => [...(links.get(id)?.values() ?? [])])) {
    const creator = actions.find(({ id }) => id === from);
    if (!creator || creator.webhook) continue;
    const namesOfAction = savedNames.get(from) ?? new Map<string, string>();
    savedNames.set(from, namesOfAction);
    if ([...namesOfAction.values()].includes(path)) continue;
    const [resource = "value"] = creator.operation.id.replace(/^emulator-/, "").split(".");
    namesOfAction.set(findFreeName(resource.replace(/s$/, "").replaceAll("-", "_")), path);
  }
  return { saved: savedNames, receivers };
}

function replaceNames(
  action: RecordedAction,
  links: ValueLinks,
  { saved: savedNames, receivers }: ReturnType<typeof nameValues>,
): RecordedAction {
  const linksOfAction = links.get(action.id);
  const { params, query, body } = action;
  const input = replaceLeaves({ params, query, body }, (path, value) => {
    const link: ValueLink | undefined = linksOfAction?.get(path);
    if (link) {
      const receiver = receivers.get(link.from);
      if (receiver !== undefined) return `$\{${receiver}.webhook}`;
      const name = [...(savedNames.get(link.from) ?? [])].find(([, path]) => path === link.path)?.[0];
      if (name !== undefined) return `$${name}`;
    }
    return escapeReferences(value);
  }) as Pick<RecordedAction, "params" | "query" | "body">;
  return { ...action, ...input };
}

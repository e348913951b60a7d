import { Document, isScalar, visit } from "yaml";
import { toFields } from "../../../base/object.ts";
import { formatDuration } from "../../../base/quantities.ts";
import { listResponses } from "./expectations.ts";
import { isSkipped, type RecordedAction, type RecordingGoal } from "./recording.ts";
import { escapeReferences, replaceLeaves } from "./references.ts";
import { contractActions } from "./schema.ts";

/** A value in the input of a request that an earlier request created. */
interface Link {
  /** Path of the value in the input. */
  readonly path: string;
  /** ID of the request that created the value, and the path of the value in its result. */
  readonly origin: number;
  readonly field: string;
}

export interface LinkedAction extends RecordedAction {
  readonly links: readonly Link[];
}

interface CreatedValue extends Omit<Link, "path"> {
  readonly value: unknown;
  /** Kind of the object, such as `contract` for `contract_id` and for the `id` of `contracts.create`. */
  readonly kind: string;
}

/** Reports whether a value is practically unique. */
const isUnique = (value: unknown): boolean => typeof value === "string" && /^[A-Z]-\d+$|^[\da-f-]{32,36}$/.test(value);

/** Finds the values that earlier requests created. `results` has the results of a replay by the ID of the request. */
export function linkActions(actions: readonly RecordedAction[], results: ReadonlyMap<number, unknown>) {
  const createdValues: CreatedValue[] = [];
  return actions.map((action) => {
    const { id: origin, input, operation, status } = action;
    const links: Link[] = [];
    replaceLeaves(input, (path, value) => {
      const kind = getObjectKind(path, action);
      const created = createdValues.find((candidate) =>
        isUnique(value)
          ? candidate.value === value
          : candidate.kind === kind && String(candidate.value) === String(value),
      );
      if (created) links.push({ path, origin: created.origin, field: created.field });
      return value;
    });
    const isCreation = status < 400 && operation.method !== "GET";
    replaceLeaves(isCreation ? results.get(origin) : undefined, (field, value) => {
      const kind = getObjectKind(field, action);
      const isKnown = createdValues.some((candidate) => candidate.kind === kind && candidate.value === value);
      if (kind !== undefined && value !== null && !isKnown) createdValues.push({ origin, field, value, kind });
      return value;
    });
    return { ...action, links };
  });
}

/** Names of fields whose values a service generates. The field `webhook` of a receiver is the ID of its webhook. */
const identifierPattern = /(?:^|_)(?:ids?|uuids?)$|^webhook$/;

/** Returns the kind of object that a field refers to. Returns undefined if the field is not a reference. */
function getObjectKind(path: string, { operation }: RecordedAction): string | undefined {
  const names = path.split(".").filter((name) => !/^\d+$/.test(name));
  const name = names.at(-1) ?? "";
  if (!identifierPattern.test(name)) return undefined;
  const kind = name.replace(/_?(?:ids?|uuids?)$/, "").replace(/^composite$/, "contract");
  return kind === "" ? getResource(operation) : kind;
}

/** Returns the resource of an operation, such as `contract` for `emulator-contracts.sign`. */
const getResource = ({ id }: RecordedAction["operation"]): string =>
  id
    .replace(/^emulator-/, "")
    .split(".")[0]!
    .replace(/s$/, "");

type StoryStep = Readonly<Record<string, unknown>>;

/** Pauses below this limit are not significant. */
const minPauseMs = 1_000;

/**
 * Creates the step that repeats a pause between two times, or none for a short one. A pause is rounded up to whole
 * seconds, plus one second, so that all due entries have run.
 */
export const createPause = (from: number, to: number): readonly StoryStep[] =>
  to - from < minPauseMs ? [] : [{ advance: formatDuration((Math.ceil((to - from) / 1_000) + 1) * 1_000) }];

/** Creates the step that repeats a request. A request that created a webhook opens a receiver. */
export function createStep(
  { operation, webhook }: RecordedAction,
  { params, query, body }: RecordedAction["input"],
  receiver: string,
): StoryStep {
  if (webhook) {
    const responses = webhook.responses.length === 1 ? webhook.responses[0] : webhook.responses;
    return { receiver, responses, subscribe: toFields(body).only_for_activities };
  }
  if (operation.id === "faults.add") return { fault: body };
  const act = contractActions.find((action) => operation.id === `emulator-contracts.${action}`);
  if (act) {
    const { email = "next", note } = toFields(body);
    return { as: email, [act]: params.id, ...(note === undefined ? {} : { note }) };
  }
  const parts = Object.entries({ params, query }).filter(([, part]) => Object.keys(part).length > 0);
  return { call: operation.id, ...Object.fromEntries(parts), ...(body === undefined ? {} : { body }) };
}

export function createSteps(actions: readonly LinkedAction[], goal: RecordingGoal): readonly StoryStep[] {
  const usedNames = new Set<string>();
  const createName = (suggestedName: string): string => {
    let name = suggestedName;
    for (let number = 2; usedNames.has(name); number += 1) name = `${suggestedName}${number}`;
    usedNames.add(name);
    return name;
  };
  const receivers = new Map<number, string>();
  for (const { id, webhook } of actions) if (webhook) receivers.set(id, createName("receiver"));
  /** Paths of saved values by their names, for each request. */
  const saved = new Map<number, Record<string, string>>();
  const getReference = ({ origin, field }: Link): string => {
    if (receivers.has(origin)) return `$\{${receivers.get(origin)}.webhook}`;
    const names = saved.get(origin) ?? {};
    saved.set(origin, names);
    const { operation } = actions.find(({ id }) => id === origin)!;
    const name =
      Object.keys(names).find((key) => names[key] === field) ?? createName(getResource(operation).replaceAll("-", "_"));
    names[name] = field;
    return `$${name}`;
  };
  const inputs = actions.map(({ input, links }) =>
    replaceLeaves(input, (path, leaf) => {
      const link = links.find((candidate) => candidate.path === path);
      return link ? getReference(link) : escapeReferences(leaf);
    }),
  ) as RecordedAction["input"][];
  const { delivery, action: goalAction } = goal;
  const steps = actions.flatMap((action, i) => {
    const { id, at, status, failure } = action;
    const isGoal = id === goalAction.id && !delivery;
    // Other rejections do not matter.
    const expect = isGoal ? { status, ...(failure !== null && { failure }) } : status >= 400 ? null : undefined;
    return [
      ...createPause(actions[i - 1]?.at ?? at, at),
      {
        ...createStep(action, inputs[i]!, receivers.get(id) ?? ""),
        ...(saved.has(id) && { save: saved.get(id) }),
        ...(expect !== undefined && { expect }),
      },
    ];
  });
  if (!delivery) return steps;
  const { activity, outcome, attempts } = delivery;
  const expected = { to: receivers.get(goalAction.id), activity, outcome, responses: listResponses(attempts) };
  const wait = isSkipped(goal) ? [{ advance: "idle" }] : createPause(actions.at(-1)!.at, goal.at);
  return [...steps, ...wait, { expect: { deliveries: [expected] } }];
}

export function formatStory(scenario: object, comment: string): string {
  const document = new Document(scenario);
  document.commentBefore = ` ${comment}`;
  visit(document, {
    Seq(_, list) {
      if (list.items.every(isScalar)) list.flow = true;
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: true });
}

import type { Operation } from "../../../../api/operation.ts";
import { listObservedDeliveries } from "../observations.ts";
import { escapeReferences, getValueAt, replaceLeaves } from "../references.ts";
import type { ScenarioEnvironment } from "../scenario-environment.ts";
import { runStep, type StepObservation } from "../steps.ts";
import { isExpectedDeliverySeen, type RecordingGoal } from "./goal.ts";
import type { RecordedAction } from "./history.ts";
import type { ValueLink, ValueLinks } from "./links.ts";
import { createStoryStep, minPauseMs, roundPause } from "./story.ts";

/** Performs work on a fork of the same initial emulator each time. */
type EnvironmentRunner = <T>(work: (environment: ScenarioEnvironment) => Promise<T>) => Promise<T>;

/** Replays requests on a fork of an emulator. The original times between the requests are preserved. */
export class ActionReplayer {
  readonly #withEnvironment: EnvironmentRunner;
  readonly #operations: readonly Operation[];

  constructor(withEnvironment: EnvironmentRunner, operations: readonly Operation[]) {
    this.#withEnvironment = withEnvironment;
    this.#operations = operations;
  }

  run(actions: readonly RecordedAction[], links: ValueLinks): Promise<ReadonlyMap<number, StepObservation>> {
    return this.#play(actions, links, async (_, results) => results);
  }

  async reaches(goal: RecordingGoal, actions: readonly RecordedAction[], links: ValueLinks): Promise<boolean> {
    const last = goal.kind === "request" ? goal.action : goal.webhook;
    if (!actions.includes(last)) return false;
    return this.#play(actions, links, async (environment, results) => {
      if (actions.some(({ id, status }) => status < 400 && (results.get(id)?.status ?? 0) >= 400)) return false;
      if (goal.kind === "request") {
        const { status, failures = [] } = results.get(last.id) ?? {};
        const { failure } = goal.action;
        return status === goal.action.status && (failure === null || failures.includes(failure));
      }
      await advanceTo(environment, actions.at(-1)!.at, goal.virtualTimeMs);
      await environment.settle();
      return isExpectedDeliverySeen(goal.delivery, getReceiverName(last), await listObservedDeliveries(environment));
    });
  }

  #play<T>(
    actions: readonly RecordedAction[],
    links: ValueLinks,
    inspect: (environment: ScenarioEnvironment, results: ReadonlyMap<number, StepObservation>) => Promise<T>,
  ): Promise<T> {
    return this.#withEnvironment(async (environment) => {
      const results = new Map<number, StepObservation>();
      let at: number | undefined;
      for (const action of actions) {
        await advanceTo(environment, at ?? action.at, action.at);
        at = action.at;
        const input = resolveLinks(action, links.get(action.id), results);
        if (input === undefined) continue;
        const step = createStoryStep(input, getReceiverName(action));
        results.set(action.id, await runStep(step.kind, step.fields, environment, this.#operations));
      }
      return inspect(environment, results);
    });
  }
}

async function advanceTo(environment: ScenarioEnvironment, from: number, to: number): Promise<void> {
  if (to - from < minPauseMs) return;
  await environment.emulator.clock.advance({ by: roundPause(to - from) });
}

export const getReceiverName = ({ id }: Pick<RecordedAction, "id">): string => `receiver${id}`;

/** Resolves the links of a request with values of this replay. Returns undefined if a value is missing. */
function resolveLinks(
  action: RecordedAction,
  links: ReadonlyMap<string, ValueLink> | undefined,
  results: ReadonlyMap<number, StepObservation>,
): RecordedAction | undefined {
  let isWhole = true;
  const input = replaceLeaves({ params: action.params, query: action.query, body: action.body }, (path, value) => {
    const link = links?.get(path);
    if (!link) return escapeReferences(value);
    const linkedValue = getValueAt(results.get(link.from)?.value, link.path);
    if (linkedValue === undefined) isWhole = false;
    return escapeReferences(linkedValue);
  }) as Pick<RecordedAction, "params" | "query" | "body">;
  return isWhole ? { ...action, ...input } : undefined;
}

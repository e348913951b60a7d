import { dirname, relative, resolve } from "node:path";
import type { Operation } from "../../../../api/operation.ts";
import { pluralize } from "../../../../base/text.ts";
import type { Context } from "../../../command.ts";
import { writeOutput } from "../../../output/file.ts";
import { CommandFailedError } from "../../../process/failure.ts";
import { withSpinner } from "../../../prompt/spinner.ts";
import { ScenarioEmulators } from "../emulators.ts";
import { isSeedFile } from "../load.ts";
import { listObservedDeliveries } from "../observations.ts";
import { parseScenario } from "../parse.ts";
import { runScenario } from "../run-scenario.ts";
import type { ScenarioEnvironment } from "../scenario-environment.ts";
import { runStep, type StepObservation } from "../steps.ts";
import { findGoal, getGoalId, type RecordedAction, type RecordingGoal, readRecording } from "./history.ts";
import { getResultName, linkActions, listOrigins, selectRepeatable } from "./links.ts";
import { createStoryStep, formatStory, getPauseMs, toExpectedDelivery } from "./story.ts";

interface RecordStoryOptions {
  readonly path: string;
  /** Subject of the story, such as `request:12` or `delivery:3`. */
  readonly eventId: string | undefined;
  /** Name or file of the emulator's seed. */
  readonly seed: string | undefined;
}

/** Creates a scenario from the records of a running emulator. The scenario contains only the necessary requests. */
export async function recordStory(
  { path, eventId, seed: givenSeed }: RecordStoryOptions,
  context: Context,
): Promise<void> {
  const { host, output } = context;
  // The path of a seed is relative to the folder of its scenario.
  const seed = isSeedFile(givenSeed)
    ? relative(dirname(resolve(host.cwd, path)), resolve(host.cwd, givenSeed))
    : givenSeed;
  const { registry: operations } = await import("../../../../api/registry.ts");
  const client = await context.client("emulator");
  const recording = await readRecording(client, operations);
  const goal = findGoal(recording, eventId);
  const emulators = new ScenarioEmulators(context);
  context.onEnd(() => emulators.close());
  const empty = parseScenario(
    path,
    JSON.stringify({ ...(seed && { seed }), steps: [{ advance: "next" }] }),
    operations,
  );
  const replay = <T>(
    actions: readonly RecordedAction[],
    inspect: (results: ReplayResults, environment: ScenarioEnvironment) => T | Promise<T>,
  ) =>
    emulators.withEnvironment(empty, async (environment) =>
      inspect(await replayActions(actions, environment, operations), environment),
    );
  const story = await withSpinner(context, "Removing unnecessary requests", async () => {
    const before = recording.actions.filter(({ id, at }) => (goal.delivery ? at <= goal.at : id <= goal.action.id));
    const actions = await minimizeActions(
      linkActions(before, await replay(linkActions(before, new Map()), (results) => results)),
      goal.action.id,
      (actions) => replay(actions, (results, environment) => isReached(goal, actions, results, environment)),
    );
    if (!actions) {
      const subject = goal.delivery ? "" : ` (${goal.action.operation.id})`;
      const message = `The ${getGoalId(goal).replace(":", " ")}${subject} has a different outcome when repeated.`;
      throw new CommandFailedError("failed", "not_repeatable", message, {
        hint: "Name the seed of the emulator with --seed. Uploads, secrets and requests of other workspaces cannot be recorded.",
      });
    }
    return { text: formatStory(goal, actions, { requests: recording.requests, seed }), actions };
  });
  const parsed = parseScenario(path, story.text, operations);
  const { ok, steps } = await emulators.withEnvironment(parsed, (environment) =>
    runScenario(parsed, environment, { operations, wall: host.wall }),
  );
  const [problem] = steps.flatMap(({ problems }) => problems);
  if (!ok) await output.warn(`warning: the scenario fails when it is run: ${problem?.message}`);
  await writeOutput(host, resolve(host.cwd, path), [Buffer.from(story.text)]);
  const summary = `${story.actions.length} of ${pluralize(recording.requests, "request")} kept`;
  if (output.format === "table") await output.print(`Wrote ${path}: ${summary}.`);
  else await output.show({ file: path, requests: recording.requests, kept: story.actions.length, ok });
}

type ReplayResults = ReadonlyMap<number, StepObservation>;

/** Replays requests with the original times between them. Resolves with the results by the IDs of the requests. */
async function replayActions(
  actions: readonly RecordedAction[],
  environment: ScenarioEnvironment,
  operations: readonly Operation[],
): Promise<ReplayResults> {
  const results = new Map<number, StepObservation>();
  for (const [i, action] of actions.entries()) {
    await advance(environment, actions[i - 1]?.at ?? action.at, action.at);
    const name = getResultName(action.id);
    const { kind, fields } = createStoryStep(action, name);
    const result = await runStep(kind, fields, environment, operations);
    environment.values.set(name, result.value);
    results.set(action.id, result);
  }
  return results;
}

async function advance({ emulator }: ScenarioEnvironment, from: number, to: number): Promise<void> {
  const by = getPauseMs(from, to);
  if (by > 0) await emulator.clock.advance({ by });
}

/** Reports whether a replay has reproduced the goal, without new rejections. */
async function isReached(
  { action, at, delivery }: RecordingGoal,
  actions: readonly RecordedAction[],
  results: ReplayResults,
  environment: ScenarioEnvironment,
): Promise<boolean> {
  if (actions.some(({ id, status }) => status < 400 && (results.get(id)?.status ?? 0) >= 400)) return false;
  if (!delivery) {
    const { status, failures = [] } = results.get(action.id) ?? {};
    return status === action.status && (action.failure === null || failures.includes(action.failure));
  }
  await advance(environment, actions.at(-1)!.at, at);
  await environment.settle();
  const expected = JSON.stringify(toExpectedDelivery(delivery));
  return (await listObservedDeliveries(environment)).some(
    ({ to, activity, outcome, responses }) =>
      to === getResultName(action.id) && JSON.stringify({ activity, outcome, responses }) === expected,
  );
}

/**
 * Finds a minimal list of requests. Starts with the related requests, or with all requests if those are not sufficient.
 * Then omits halves, quarters and so on, as delta debugging does. Returns undefined if all requests together do not
 * reproduce the goal.
 */
async function minimizeActions(
  actions: readonly RecordedAction[],
  goalId: number,
  holds: (actions: readonly RecordedAction[]) => Promise<boolean>,
): Promise<readonly RecordedAction[] | undefined> {
  const related = selectRelated(actions, goalId);
  let remaining = related.length < actions.length && (await holds(related)) ? related : actions;
  if (remaining === actions && !(await holds(actions))) return undefined;
  for (let size = remaining.length; size > 1; ) {
    size = Math.ceil(size / 2);
    for (let from = remaining.length - size; from > -size; from -= size) {
      const rest = selectRepeatable(remaining.filter(({ id }, i) => i < from || i >= from + size || id === goalId));
      const isShorter = rest.length < remaining.length && rest.some(({ id }) => id === goalId);
      if (isShorter && (await holds(rest))) remaining = rest;
    }
  }
  return remaining;
}

/** Selects the objects of the goal's request, their references, and all requests about the same objects. */
function selectRelated(actions: readonly RecordedAction[], goalId: number): readonly RecordedAction[] {
  const requiredIds = new Set([goalId]);
  for (let size = -1; size !== requiredIds.size; ) {
    size = requiredIds.size;
    for (const action of actions) {
      const originIds = listOrigins(action);
      if (requiredIds.has(action.id)) for (const from of originIds) requiredIds.add(from);
      else if (originIds.some((from) => requiredIds.has(from))) requiredIds.add(action.id);
    }
  }
  // A fault refers to no created object but affects later requests.
  return actions.filter(({ id, operation }) => requiredIds.has(id) || operation.id === "faults.add");
}

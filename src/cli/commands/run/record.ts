import { dirname, relative, resolve } from "node:path";
import { omitUndefined } from "../../../base/object.ts";
import { pluralize } from "../../../base/text.ts";
import type { Context } from "../../command.ts";
import { writeOutput } from "../../output/file.ts";
import { isSeedFile } from "../../parse/body.ts";
import { CommandFailedError } from "../../process/failure.ts";
import { withSpinner } from "../../prompt/terminal.ts";
import { type RunnableScenario, type ScenarioEnvironment, withScenarioEnvironment } from "./environment.ts";
import { createPause, createStep, createSteps, formatStory, type LinkedAction, linkActions } from "./recorded-story.ts";
import { findGoal, getGoalId, isSkipped, type RecordedAction, readRecording } from "./recording.ts";
import { escapeReferences } from "./references.ts";
import { runScenario } from "./run-scenario.ts";
import { parseScenario } from "./scenario-file.ts";
import { runStep } from "./steps.ts";

interface RecordStoryOptions {
  readonly path: string;
  /** Subject of the story, such as `request:12` or `delivery:3`. */
  readonly eventId: string | undefined;
  /** Name or file of the emulator's seed. */
  readonly seed: string | undefined;
}

/**
 * Creates a scenario from the request log of a running emulator. It is the shortest one found that still succeeds,
 * which means that it fails with the recorded failure.
 */
export async function recordStory({ path, eventId, seed: givenSeed }: RecordStoryOptions, context: Context) {
  const { host, output } = context;
  // The path of a seed is relative to the folder of its scenario.
  const seed = isSeedFile(givenSeed)
    ? relative(dirname(resolve(host.cwd, path)), resolve(host.cwd, givenSeed))
    : givenSeed;
  const recording = await readRecording(await context.client("emulator"));
  const goal = findGoal(recording, eventId);
  const { action: goalAction, delivery } = goal;
  const createScenario = (steps: readonly object[]): RunnableScenario => ({
    file: path,
    scenario: { ...omitUndefined({ seed }), steps } as RunnableScenario["scenario"],
    locate: () => ({ file: path, line: 1, column: 1 }),
  });
  const succeeds = (actions: readonly LinkedAction[]): Promise<boolean> => {
    const scenario = createScenario(createSteps(actions, goal));
    return withScenarioEnvironment(scenario, context, async (environment) => {
      const { ok } = await runScenario(scenario, environment);
      return ok;
    });
  };
  const actions = await withSpinner(context, "Removing unnecessary requests", async () => {
    const before = recording.actions.filter(({ id, at }) =>
      delivery ? isSkipped(goal) || at <= goal.at : id <= goalAction.id,
    );
    const results = await withScenarioEnvironment(createScenario([]), context, (environment) =>
      replayActions(before, environment),
    );
    return minimizeActions(linkActions(before, results), goalAction.id, succeeds);
  });
  if (!actions) {
    const subject = delivery ? "" : ` (${goalAction.operation.id})`;
    const message = `The ${getGoalId(goal).replace(":", " ")}${subject} has a different outcome when repeated.`;
    throw new CommandFailedError("failed", "not_repeatable", message, {
      hint: "Name the seed of the emulator with --seed. Uploads, forms of signing pages, secrets and requests of other workspaces cannot be recorded.",
    });
  }
  const summary = `${actions.length} of ${pluralize(recording.requests, "request")} kept`;
  const name = `Causes of ${delivery ? `the delivery of ${delivery.activity}` : goalAction.operation.id}`;
  const text = formatStory(
    { name, ...createScenario(createSteps(actions, goal)).scenario },
    `Recorded by svc run --record: ${summary}.`,
  );
  // Not every logged request is valid in a scenario.
  parseScenario(path, text);
  await writeOutput(host, resolve(host.cwd, path), [Buffer.from(text)]);
  if (output.format === "table") await output.print(`Wrote ${path}: ${summary}.`);
  else await output.show({ file: path, requests: recording.requests, kept: actions.length, ok: true });
}

/** Replays requests with the original times between them. Resolves with the results by the IDs of the requests. */
async function replayActions(actions: readonly RecordedAction[], environment: ScenarioEnvironment) {
  const results = new Map<number, unknown>();
  for (const [i, action] of actions.entries()) {
    for (const pause of createPause(actions[i - 1]?.at ?? action.at, action.at)) await runStep(pause, environment);
    const input = escapeReferences(action.input) as RecordedAction["input"];
    const { value } = await runStep(createStep(action, input, `receiver${action.id}`), environment);
    results.set(action.id, value);
  }
  return results;
}

/**
 * Finds a minimal list of requests. Omits halves, quarters and so on, as delta debugging does. Returns undefined if all
 * requests together do not succeed.
 */
async function minimizeActions(
  actions: readonly LinkedAction[],
  goalId: number,
  succeeds: (actions: readonly LinkedAction[]) => Promise<boolean>,
): Promise<readonly LinkedAction[] | undefined> {
  if (!(await succeeds(actions))) return undefined;
  let remaining = actions;
  for (let size = remaining.length; size > 1; ) {
    size = Math.ceil(size / 2);
    for (let from = remaining.length - size; from > -size; from -= size) {
      const rest = selectRepeatable(remaining.filter(({ id }, i) => i < from || i >= from + size || id === goalId));
      const isShorter = rest.length < remaining.length && rest.some(({ id }) => id === goalId);
      if (isShorter && (await succeeds(rest))) remaining = rest;
    }
  }
  return remaining;
}

/** Selects the requests that refer only to results of selected requests. */
function selectRepeatable(actions: readonly LinkedAction[]): readonly LinkedAction[] {
  const ids = new Set<number>();
  return actions.filter(({ id, links }) => links.every(({ origin }) => ids.has(origin)) && ids.add(id));
}

import { dirname, relative, resolve } from "node:path";
import { pluralize } from "../../../../base/text.ts";
import type { Context } from "../../../command.ts";
import { writeOutput } from "../../../output/file.ts";
import { CommandFailedError } from "../../../process/failure.ts";
import { withSpinner } from "../../../prompt/spinner.ts";
import { ScenarioEmulators } from "../emulators.ts";
import { isSeedFile } from "../load.ts";
import { parseScenario } from "../parse.ts";
import { runScenario } from "../run-scenario.ts";
import { findGoal, type RecordingGoal } from "./goal.ts";
import { type RecordedAction, readRecording } from "./history.ts";
import { findLinks, type ValueLinks } from "./links.ts";
import { ActionReplayer } from "./replay.ts";
import { formatStory } from "./story.ts";

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
  const story = await withSpinner(context, "Removing unnecessary requests", async () => {
    const replayer = new ActionReplayer((work) => emulators.withEnvironment(empty, work), operations);
    const before = recording.actions.filter(({ id, at }) => isBeforeGoal(goal, id, at));
    const links = findLinks(before, await replayer.run(before, new Map()));
    const essential = [goal.kind === "request" ? goal.action : goal.webhook];
    const reproduces = (actions: readonly RecordedAction[]) => replayer.reaches(goal, actions, links);
    const actions = await minimizeActions(before, essential, links, reproduces);
    if (!actions) {
      const message = `The ${describeGoal(goal)} has a different outcome when repeated.`;
      throw new CommandFailedError("failed", "not_repeatable", message, {
        hint: "Name the seed of the emulator with --seed. Uploads, secrets and requests of other workspaces cannot be recorded.",
      });
    }
    return { text: formatStory(goal, actions, links, { requests: recording.requests, seed }), actions };
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

const isBeforeGoal = (goal: RecordingGoal, id: number, at: number): boolean =>
  goal.kind === "request" ? id <= goal.action.id : at <= goal.virtualTimeMs;

const describeGoal = (goal: RecordingGoal): string =>
  goal.kind === "request" ? `request ${goal.action.id} (${goal.action.operation.id})` : `delivery ${goal.delivery.id}`;

/** Reports whether these requests alone reproduce the goal. */
type ReproductionCheck = (actions: readonly RecordedAction[]) => Promise<boolean>;

/**
 * Finds a minimal list of requests. Starts with the related requests, or with all requests if those are not sufficient.
 * Then omits halves, quarters and so on, as delta debugging does. Returns undefined if all requests together do not
 * reproduce the goal.
 */
async function minimizeActions(
  actions: readonly RecordedAction[],
  essential: readonly RecordedAction[],
  links: ValueLinks,
  holds: ReproductionCheck,
): Promise<readonly RecordedAction[] | undefined> {
  const slice = selectRelated(actions, essential, links);
  const initial = slice.length < actions.length && (await holds(slice)) ? slice : actions;
  if (initial === actions && !(await holds(actions))) return undefined;
  return omitParts(initial, essential, holds);
}

/** Finds the objects of the essential requests, their references, and all requests about the same objects. */
function selectRelated(
  actions: readonly RecordedAction[],
  essential: readonly RecordedAction[],
  links: ValueLinks,
): readonly RecordedAction[] {
  const requiredIds = new Set(essential.map(({ id }) => id));
  for (let size = -1; size !== requiredIds.size; ) {
    size = requiredIds.size;
    for (const { id } of actions) {
      const originIds = [...(links.get(id)?.values() ?? [])].map(({ from }) => from);
      if (requiredIds.has(id)) for (const from of originIds) requiredIds.add(from);
      else if (originIds.some((from) => requiredIds.has(from))) requiredIds.add(id);
    }
  }
  // A fault refers to no created object but affects later requests.
  return actions.filter(({ id, operation }) => requiredIds.has(id) || operation.id === "faults.add");
}

async function omitParts(
  actions: readonly RecordedAction[],
  essential: readonly RecordedAction[],
  holds: ReproductionCheck,
): Promise<readonly RecordedAction[]> {
  let remaining = actions;
  let size = remaining.length;
  while (size > 1) {
    size = Math.ceil(size / 2);
    for (let from = remaining.length - size; from > -size; from -= size) {
      const rest = remaining.filter((action, i) => i < from || i >= from + size || essential.includes(action));
      if (rest.length < remaining.length && (await holds(rest))) remaining = rest;
    }
  }
  return remaining;
}

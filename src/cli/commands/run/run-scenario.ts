import { showTrace } from "../../../api/emulator/traces.ts";
import type { Operation } from "../../../api/operation.ts";
import { toIsoMillis, type WallClock } from "../../../base/clock.ts";
import { omitUndefined, toFields } from "../../../base/object.ts";
import { stripStyles } from "../../output/styled.ts";
import { formatTree } from "../trace/tree-lines.ts";
import { checkExpectations } from "./check-expectations.ts";
import { listObservedDeliveries } from "./observations.ts";
import type { ParsedScenario } from "./parse.ts";
import type { DocumentPath } from "./problem.ts";
import { getValueAt, resolveReferences, restoreReferences } from "./references.ts";
import type { ExpectationMismatch, ObservedValue, ScenarioResult, StepResult } from "./result.ts";
import type { ScenarioEnvironment } from "./scenario-environment.ts";
import { type ForEachLoop, type ScenarioStep, type StepKind, stepSchemas } from "./schema.ts";
import { runStep, type StepObservation } from "./steps.ts";

interface RunScenarioOptions {
  readonly operations: readonly Operation[];
  readonly wall: WallClock;
  readonly onStep?: (step: StepResult) => Promise<void>;
  /** Whether observed values replace the expectations. */
  readonly update?: boolean;
  /** Whether successful scenarios are traced, too. */
  readonly traces?: boolean;
}

type PlainStep = Exclude<ScenarioStep, ForEachLoop>;

/** Runs the steps of a scenario until one fails. */
export async function runScenario(
  { scenario, file, positions }: ParsedScenario,
  environment: ScenarioEnvironment,
  { operations, wall, onStep, update = false, traces = false }: RunScenarioOptions,
): Promise<ScenarioResult> {
  const { values, secrets, signal, client } = environment;
  const results: StepResult[] = [];
  const seen: ObservedValue[] = [];
  let contract: string | undefined;
  const startedAt = wall.monotonicNow();
  const ok = await runSteps(scenario.steps, ["steps"], "");
  const completedCount = results.filter(({ number }) => !number.includes(".")).length;
  const trace = ok && !traces ? [] : await ignoreFailure([], formatTrace);
  const hint = ok ? undefined : await ignoreFailure(undefined, findHint);
  return secrets.maskValue({
    file,
    name: scenario.name ?? "",
    ok,
    seconds: getSecondsSince(startedAt),
    steps: results,
    skipped: ok ? 0 : Math.max(0, scenario.steps.length - Math.max(completedCount, 1)),
    ...(hint === undefined ? {} : { hint }),
    traced: trace.length > 0 ? contract : undefined,
    trace,
    seen,
  });

  function getSecondsSince(startedAt: number): number {
    return Math.round(wall.monotonicNow() - startedAt) / 1_000;
  }

  async function runSteps(steps: readonly ScenarioStep[], path: DocumentPath, prefix: string): Promise<boolean> {
    for (const [i, step] of steps.entries()) {
      signal.throwIfAborted();
      const position = [[...path, i], `${prefix}${i + 1}`] as const;
      const ok = "for each" in step ? await runLoop(step, ...position) : await runOne(step, ...position);
      if (!ok) return false;
    }
    return true;
  }

  async function runLoop(step: ForEachLoop, path: DocumentPath, number: string): Promise<boolean> {
    const [name = "", loopValues] = Object.entries(step["for each"])[0] ?? [];
    const list = resolveReferences(loopValues, values) as unknown;
    if (!Array.isArray(list)) {
      const position = positions.locate([...path, "for each", name]);
      const problems = [{ message: `${name}: expected a list to run over`, ...position }];
      await addResult("for each", step, number, path, { title: `for each ${name}`, outcome: "" }, problems, 0);
      return false;
    }
    const before = values.get(name);
    for (const [round, value] of list.entries()) {
      values.set(name, value);
      if (!(await runSteps(step.steps, [...path, "steps"], `${number}.${round + 1}.`))) return false;
    }
    values.set(name, before);
    return true;
  }

  async function runOne(step: PlainStep, path: DocumentPath, number: string): Promise<boolean> {
    const kind = (Object.keys(stepSchemas) as StepKind[]).find((key) => key in step) as Exclude<StepKind, "for each">;
    const startedAt = wall.monotonicNow();
    const observation = await runStep(kind, step, environment, operations);
    // An interrupted command line is not a failure of the story.
    signal.throwIfAborted();
    secrets.recordSecrets(observation.value);
    contract = findContract(step, observation, environment) ?? contract;
    const problems = await findProblems(step, path, kind, observation, update && !number.includes("."));
    if (problems.length === 0) problems.push(...saveValues(step, observation, path));
    await addResult(kind, step, number, path, observation, problems, getSecondsSince(startedAt));
    return problems.length === 0;
  }

  async function findProblems(
    { expect }: PlainStep,
    path: DocumentPath,
    kind: StepKind,
    observation: StepObservation,
    isUpdate: boolean,
  ): Promise<ExpectationMismatch[]> {
    const { error, status, failures: [failure] = [], exit } = observation;
    const isFailureExpected =
      expect === null || (expect !== undefined && ["status", "failure", "exit"].some((name) => name in expect));
    if (error !== undefined && !(isFailureExpected && (status ?? exit) !== undefined))
      return [{ message: error, ...positions.locateKey(path, kind) }];
    const getPath = (below: DocumentPath) => [...path, "expect", ...below] as (string | number)[];
    const outcome = omitUndefined<unknown>({ status, failure, exit });
    if (isUpdate && expect === null && Object.keys(outcome).length > 0)
      seen.push({ path: getPath([]), value: outcome });
    if (!expect) return [];
    const differences = await checkExpectations(expect, observation, environment);
    if (!isUpdate)
      return differences.map(({ path: below, message }) => ({ message, ...positions.locate(getPath(below)) }));
    for (const { path: below, actual } of differences) {
      const expected = getValueAt(expect, below.join("."));
      seen.push({ path: getPath(below), value: restoreReferences(actual ?? null, expected, values) });
    }
    return [];
  }

  function saveValues(step: PlainStep, observation: StepObservation, path: DocumentPath): ExpectationMismatch[] {
    const save = "save" in step ? step.save : undefined;
    const variables = typeof save === "string" ? { [save]: "" } : (save ?? {});
    return Object.entries(variables).flatMap(([name, below]) => {
      const value = getValueAt(observation.value, below);
      if (value === undefined) {
        const message = `${name} cannot be saved: the result has no ${below || "value"}`;
        return [{ message, ...positions.locate([...path, "save", name]) }];
      }
      secrets.recordSecrets(value, name);
      values.set(name, value);
      return [];
    });
  }

  async function addResult(
    kind: StepKind,
    step: Pick<ScenarioStep, "title">,
    number: string,
    path: DocumentPath,
    { title, outcome, output = "", notes = "", command, exit }: StepObservation,
    problems: readonly ExpectationMismatch[],
    seconds: number,
  ): Promise<void> {
    const result = secrets.maskValue<StepResult>({
      number,
      kind,
      title: step.title ?? title,
      outcome,
      line: positions.locate(path).line,
      ok: problems.length === 0,
      problems,
      at: toIsoMillis(environment.emulator.clock.now()),
      seconds,
      output,
      notes,
      ...(command === undefined ? {} : { command }),
      ...(exit === undefined ? {} : { exit }),
    });
    results.push(result);
    await onStep?.(result);
  }

  /** A hint and a trace are optional, so their failures are ignored. */
  async function ignoreFailure<T>(otherwise: T, find: () => Promise<T>): Promise<T> {
    return find().catch(() => {
      signal.throwIfAborted();
      return otherwise;
    });
  }

  /** Explains why a program rejects all deliveries: it started before the scenario's emulator and uses another key. */
  async function findHint(): Promise<string | undefined> {
    const rejectedDelivery = (await listObservedDeliveries(environment)).find(
      ({ to, responses }) => environment.receivers.get(to)?.isProgram && [401, 403].includes(Number(responses.at(-1))),
    );
    if (rejectedDelivery === undefined) return undefined;
    const { seed = "demo" } = scenario;
    const flag = typeof seed !== "string" || seed === "demo" ? "" : ` --seed ${seed}`;
    const key =
      typeof seed === "object"
        ? "the hmac_key of its workspace in the seed"
        : `the key of: svc emulator exec --deterministic${flag} -- printenv SVC_WEBHOOK_HMAC_KEY`;
    return `${rejectedDelivery.to} responded ${rejectedDelivery.responses.at(-1)}. The scenario signs with ${key}`;
  }

  /** Formats the trace of the story's contract. Returns an empty list without a contract. */
  async function formatTrace(): Promise<readonly string[]> {
    if (contract === undefined) return [];
    return formatTree(await client.call(showTrace, { params: { ref: contract } })).map(stripStyles);
  }
}

/** Finds the contract that a step is about, in its result or its values. */
function findContract(
  step: object,
  { value, title }: StepObservation,
  { values }: ScenarioEnvironment,
): string | undefined {
  const { composite_id, id } = toFields(value);
  let input: unknown = step;
  try {
    input = resolveReferences(step, values);
  } catch {
    // A value is missing.
  }
  const texts = [composite_id, id, title, JSON.stringify(input)];
  return /(?<![\w-])[TH]-\d+(?![\w-])/.exec(texts.join("\n"))?.[0];
}

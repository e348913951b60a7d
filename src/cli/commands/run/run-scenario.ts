import { showTrace } from "../../../api/emulator/traces.ts";
import { toIsoMillis } from "../../../base/clock.ts";
import { toPlainNumbers } from "../../../base/json.ts";
import { findField, omitUndefined } from "../../../base/object.ts";
import { stripStyles } from "../../output/styled.ts";
import { formatTree } from "../emulator/trace.ts";
import type { ScenarioPath } from "./check-scenario.ts";
import type { RunnableScenario, ScenarioEnvironment } from "./environment.ts";
import { checkExpectations, listObservedDeliveries } from "./expectations.ts";
import { resolveReferences, restoreReferences } from "./references.ts";
import type { ObservedValue } from "./scenario-file.ts";
import type { ForEachLoop, ScenarioStep, StepKind } from "./schema.ts";
import { getStepKind, runStep, type StepObservation } from "./steps.ts";

interface ExpectationMismatch {
  readonly message: string;
  readonly line: number;
  readonly column: number;
}

export interface StepResult {
  /** Example: `3`. The first step of the second iteration of a loop is `4.2.1`. */
  readonly number: string;
  readonly kind: StepKind;
  readonly title: string;
  /** Short summary, such as `201 T-1`. */
  readonly outcome: string;
  readonly line: number;
  readonly ok: boolean;
  readonly problems: readonly ExpectationMismatch[];
  /** Virtual time after the step. */
  readonly at: string;
  readonly seconds: number;
  readonly output: string;
  readonly notes: string;
  /** Command line. Undefined for other kinds of steps. */
  readonly command: string | undefined;
  readonly exit: number | undefined;
}

/** Result of one scenario, without secrets. */
export interface ScenarioResult {
  readonly file: string;
  readonly name: string;
  readonly ok: boolean;
  readonly seconds: number;
  readonly steps: readonly StepResult[];
  /** Number of steps that were not run. */
  readonly skipped: number;
  /** Hint how to fix the failure. Undefined if unknown. */
  readonly hint?: string | undefined;
  /** Subject of the trace, such as `T-1`. Undefined without a trace. */
  readonly traced?: string | undefined;
  readonly trace: readonly string[];
  /** Observed values that `--update` writes. */
  readonly seen: readonly ObservedValue[];
}

interface RunScenarioOptions {
  readonly onStep?: (step: StepResult) => Promise<void>;
  /** Whether observed values replace the expectations. */
  readonly update?: boolean;
  /** Whether successful scenarios are traced, too. */
  readonly traces?: boolean;
}

/** A step with its position in the file and its number in the output. */
interface NumberedStep<Step extends ScenarioStep = Exclude<ScenarioStep, ForEachLoop>> {
  readonly step: Step;
  readonly path: ScenarioPath;
  readonly number: string;
}

/** Runs the steps of a scenario until one fails. */
export async function runScenario(
  { scenario, file, locate }: RunnableScenario,
  environment: ScenarioEnvironment,
  { onStep, update = false, traces = false }: RunScenarioOptions = {},
): Promise<ScenarioResult> {
  const { values, signal, client, wall } = environment;
  const results: StepResult[] = [];
  const seen: ObservedValue[] = [];
  let contract: string | undefined;
  const getSecondsSince = (begin: number) => Math.round(wall.monotonicNow() - begin) / 1_000;
  const startedAt = wall.monotonicNow();
  const ok = await runSteps(scenario.steps, ["steps"], "");
  const trace = ok && !traces ? [] : ((await ignoreFailure(formatTrace)) ?? []);
  return environment.maskSecrets({
    file,
    name: scenario.name ?? "",
    ok,
    seconds: getSecondsSince(startedAt),
    steps: results,
    skipped: ok ? 0 : scenario.steps.length - Number.parseInt(results.at(-1)!.number, 10),
    hint: ok ? undefined : await ignoreFailure(findHint),
    traced: trace.length > 0 ? contract : undefined,
    trace,
    seen,
  });

  async function runSteps(steps: readonly ScenarioStep[], parent: ScenarioPath, prefix: string): Promise<boolean> {
    for (const [i, step] of steps.entries()) {
      signal.throwIfAborted();
      const position = { path: [...parent, i], number: `${prefix}${i + 1}` };
      const ok = "for each" in step ? await runLoop({ step, ...position }) : await runOne({ step, ...position });
      if (!ok) return false;
    }
    return true;
  }

  async function runLoop(loop: NumberedStep<ForEachLoop>): Promise<boolean> {
    const { step, path, number } = loop;
    const [name = "", loopValues] = Object.entries(step["for each"])[0] ?? [];
    const list = tryResolve<unknown>(loopValues);
    if (!Array.isArray(list) || list.length === 0) {
      const message = list instanceof Error ? list.message : `${name}: expected a list with at least one value`;
      const problem = createMismatch(message, [...path, "for each", name]);
      await addResult(loop, { title: `for each ${name}`, outcome: "" }, [problem], 0);
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

  async function runOne(numbered: NumberedStep): Promise<boolean> {
    const begin = wall.monotonicNow();
    const observation = await runStep(numbered.step, environment);
    // An interrupted command line is not a failure of the scenario.
    signal.throwIfAborted();
    environment.recordSecrets(observation.value);
    contract = observation.contract ?? contract;
    const mismatches = await checkStep(numbered, observation);
    const problems = mismatches.length > 0 ? mismatches : saveValues(numbered, observation);
    await addResult(numbered, observation, problems, getSecondsSince(begin));
    return problems.length === 0;
  }

  /** Compares a step with its expectations. With `update`, records the observed values instead. */
  async function checkStep({ step, path, number }: NumberedStep, observation: StepObservation) {
    const { expect } = step;
    const { error, status, failures: [failure] = [], exit } = observation;
    const isFailureExpected =
      expect === null || (expect !== undefined && ["status", "failure", "exit"].some((name) => name in expect));
    if (error !== undefined && !(isFailureExpected && (status ?? exit) !== undefined))
      return [createMismatch(error, path, getStepKind(step))];
    const isRead = ("save" in step && step.save !== undefined) || (expect != null && "json" in expect);
    if (exit === 0 && isRead && observation.value === undefined) {
      const message = observation.command?.includes(" --json")
        ? "the command line printed no JSON, so it has no result to read"
        : "the output is not JSON: add --json to the command line";
      return [createMismatch(message, path, getStepKind(step))];
    }
    const expectPath = [...path, "expect"] as (string | number)[];
    // The steps of a loop have several results.
    const isUpdated = update && !number.includes(".");
    if (expect === null) {
      const outcome = omitUndefined<unknown>({ status, failure, exit });
      if (isUpdated && Object.keys(outcome).length > 0) seen.push({ path: expectPath, value: outcome });
    }
    if (!expect) return [];
    const expected = toPlainNumbers(tryResolve(expect)) as typeof expect | Error;
    if (expected instanceof Error) return [createMismatch(expected.message, expectPath)];
    const differences = await checkExpectations(expected, observation, environment);
    // Null would match a field that does not exist, such as a misspelled one.
    const written = isUpdated ? differences.filter(({ actual }) => actual !== undefined) : [];
    for (const { path: below, actual } of written) {
      const template = findField(expect, below.join("."));
      seen.push({ path: [...expectPath, ...below], value: restoreReferences(actual, template, values) });
    }
    const suffix = update ? ` (--update does not write ${isUpdated ? "a missing value" : "into a loop"})` : "";
    return differences
      .filter((difference) => !written.includes(difference))
      .map(({ message, path }) => createMismatch(message + suffix, [...expectPath, ...path]));
  }

  function saveValues({ step, path }: NumberedStep, observation: StepObservation): readonly ExpectationMismatch[] {
    const save = "save" in step ? step.save : undefined;
    const variables = typeof save === "string" ? { [save]: "" } : (save ?? {});
    return Object.entries(variables).flatMap(([name, below]) => {
      const value = findField(observation.value, below);
      if (value === undefined) {
        const message = `${name} cannot be saved: the result has no ${below || "value"}`;
        return [createMismatch(message, [...path, "save", name])];
      }
      environment.recordSecrets(value, name);
      values.set(name, value);
      return [];
    });
  }

  /** Replaces the references in a value. Returns an error if a referenced value does not exist. */
  function tryResolve<T>(value: T): T | Error {
    try {
      return resolveReferences(value, values);
    } catch (error) {
      return error as Error;
    }
  }

  function createMismatch(message: string, path: ScenarioPath, key?: string): ExpectationMismatch {
    const { line, column } = locate(path, key);
    return { message, line, column };
  }

  async function addResult(
    { step, path, number }: NumberedStep<ScenarioStep>,
    { title, outcome, output = "", notes = "", command, exit }: StepObservation,
    problems: readonly ExpectationMismatch[],
    seconds: number,
  ): Promise<void> {
    const result = environment.maskSecrets<StepResult>({
      number,
      kind: getStepKind(step),
      title: step.title ?? title,
      outcome,
      line: locate(path).line,
      ok: problems.length === 0,
      problems,
      at: toIsoMillis(environment.emulator.clock.now()),
      seconds,
      output,
      notes,
      command,
      exit,
    });
    results.push(result);
    await onStep?.(result);
  }

  /** A hint and a trace are optional, so their failures are ignored. */
  async function ignoreFailure<T>(find: () => Promise<T>): Promise<T | undefined> {
    return find().catch(() => {
      signal.throwIfAborted();
      return undefined;
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

  /** Formats the trace of the scenario's contract. Returns an empty list without a contract. */
  async function formatTrace(): Promise<readonly string[]> {
    if (contract === undefined) return [];
    return formatTree(await client.call(showTrace, { params: { ref: contract } })).map(stripStyles);
  }
}

import { showTrace } from "../../../api/emulator/traces.ts";
import type { Operation } from "../../../api/operation.ts";
import { toIsoMillis, type WallClock } from "../../../base/clock.ts";
import { toFields } from "../../../base/object.ts";
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

/** Runs the steps of a scenario until one fails. */
export const runScenario = (
  parsed: ParsedScenario,
  environment: ScenarioEnvironment,
  options: RunScenarioOptions,
): Promise<ScenarioResult> => new ScenarioRun(parsed, environment, options).run();

class ScenarioRun {
  readonly #parsed: ParsedScenario;
  readonly #environment: ScenarioEnvironment;
  readonly #options: RunScenarioOptions;
  readonly #steps: StepResult[] = [];
  readonly #actualValues: ObservedValue[] = [];
  #contract: string | undefined;

  constructor(parsed: ParsedScenario, environment: ScenarioEnvironment, options: RunScenarioOptions) {
    this.#parsed = parsed;
    this.#environment = environment;
    this.#options = options;
  }

  async run(): Promise<ScenarioResult> {
    const { scenario, file } = this.#parsed;
    const { wall, traces } = this.#options;
    const startedAt = wall.monotonicNow();
    const ok = await this.#runSteps(scenario.steps, ["steps"], "");
    const completedCount = this.#steps.filter(({ number }) => !number.includes(".")).length;
    const trace = ok && !traces ? [] : await this.#formatTrace();
    const hint = ok ? undefined : await this.#findHint();
    return this.#environment.secrets.maskValue({
      file,
      name: scenario.name ?? "",
      ok,
      seconds: getSecondsSince(startedAt, wall),
      steps: this.#steps,
      skipped: ok ? 0 : Math.max(0, scenario.steps.length - Math.max(completedCount, 1)),
      ...(hint === undefined ? {} : { hint }),
      traced: trace.length > 0 ? this.#contract : undefined,
      trace,
      seen: this.#actualValues,
    });
  }

  async #runSteps(steps: readonly ScenarioStep[], path: DocumentPath, prefix: string): Promise<boolean> {
    for (const [i, step] of steps.entries()) {
      this.#environment.signal.throwIfAborted();
      const number = `${prefix}${i + 1}`;
      const stepPath = [...path, i];
      const ok =
        "for each" in step ? await this.#runLoop(step, stepPath, number) : await this.#runOne(step, stepPath, number);
      if (!ok) return false;
    }
    return true;
  }

  async #runLoop(step: ForEachLoop, path: DocumentPath, number: string): Promise<boolean> {
    const [name = "", loopValues] = Object.entries(step["for each"])[0] ?? [];
    const { values } = this.#environment;
    const list = resolveReferences(loopValues, values) as unknown;
    if (!Array.isArray(list)) {
      const position = this.#parsed.positions.locate([...path, "for each", name]);
      const problems = [{ message: `${name}: expected a list to run over`, ...position }];
      await this.#add("for each", step, number, path, { title: `for each ${name}`, outcome: "" }, problems, 0);
      return false;
    }
    const before = values.get(name);
    for (const [round, value] of list.entries()) {
      values.set(name, value);
      if (!(await this.#runSteps(step.steps, [...path, "steps"], `${number}.${round + 1}.`))) return false;
    }
    values.set(name, before);
    return true;
  }

  async #runOne(step: Exclude<ScenarioStep, ForEachLoop>, path: DocumentPath, number: string): Promise<boolean> {
    const kind = (Object.keys(stepSchemas) as StepKind[]).find((key) => key in step) as Exclude<StepKind, "for each">;
    const startedAt = this.#options.wall.monotonicNow();
    const observation = await runStep(kind, step, this.#environment, this.#options.operations);
    // An interrupted command line is not a failure of the story.
    this.#environment.signal.throwIfAborted();
    this.#environment.secrets.recordSecrets(observation.value);
    this.#follow(step, observation);
    const problems = await this.#findProblems(step, path, kind, observation, number.includes("."));
    if (problems.length === 0) problems.push(...this.#save(step, observation, path));
    await this.#add(kind, step, number, path, observation, problems, getSecondsSince(startedAt, this.#options.wall));
    return problems.length === 0;
  }

  async #findProblems(
    step: Exclude<ScenarioStep, ForEachLoop>,
    path: DocumentPath,
    kind: StepKind,
    observation: StepObservation,
    isInLoop: boolean,
  ): Promise<ExpectationMismatch[]> {
    const { expect } = step;
    const { positions } = this.#parsed;
    const isFailureExpected =
      expect === null || (expect !== undefined && ("status" in expect || "failure" in expect || "exit" in expect));
    if (
      observation.error !== undefined &&
      !(isFailureExpected && (observation.status ?? observation.exit) !== undefined)
    ) {
      return [{ message: observation.error, ...positions.locateKey(path, kind) }];
    }
    const getPath = (below: DocumentPath) => [...path, "expect", ...below] as (string | number)[];
    if (this.#options.update && expect === null && !isInLoop) {
      const { status, failures: [failure] = [], exit } = observation;
      const outcome = Object.entries({ status, failure, exit }).filter(([, value]) => value !== undefined);
      if (outcome.length > 0) this.#actualValues.push({ path: getPath([]), value: Object.fromEntries(outcome) });
    }
    if (!expect) return [];
    const differences = await checkExpectations(expect, observation, this.#environment);
    if (this.#options.update && !isInLoop) {
      for (const { path: below, actual } of differences) {
        const expected = getValueAt(expect, below.join("."));
        const value = restoreReferences(actual ?? null, expected, this.#environment.values);
        this.#actualValues.push({ path: getPath(below), value });
      }
      return [];
    }
    return differences.map(({ path: below, message }) => ({ message, ...positions.locate(getPath(below)) }));
  }

  #save(
    step: Exclude<ScenarioStep, ForEachLoop>,
    observation: StepObservation,
    path: DocumentPath,
  ): ExpectationMismatch[] {
    const save = "save" in step ? step.save : undefined;
    if (save === undefined) return [];
    const { values, secrets } = this.#environment;
    const variables = typeof save === "string" ? { [save]: "" } : save;
    return Object.entries(variables).flatMap(([name, below]) => {
      const value = getValueAt(observation.value, below);
      if (value === undefined) {
        const message = `${name} cannot be saved: the result has no ${below || "value"}`;
        return [{ message, ...this.#parsed.positions.locate([...path, "save", name]) }];
      }
      secrets.recordSecrets(value, name);
      values.set(name, value);
      return [];
    });
  }

  #follow(step: object, { value, title }: StepObservation): void {
    const { composite_id, id } = toFields(value);
    const texts = [composite_id, id, title, JSON.stringify(tryResolveReferences(step, this.#environment))];
    this.#contract = /(?<![\w-])[TH]-\d+(?![\w-])/.exec(texts.join("\n"))?.[0] ?? this.#contract;
  }

  async #add(
    kind: StepKind,
    step: Pick<ScenarioStep, "title">,
    number: string,
    path: DocumentPath,
    observation: StepObservation,
    problems: readonly ExpectationMismatch[],
    seconds: number,
  ): Promise<void> {
    const { title, outcome, output = "", notes = "", command, exit } = observation;
    const result = this.#environment.secrets.maskValue<StepResult>({
      number,
      kind,
      title: step.title ?? title,
      outcome,
      line: this.#parsed.positions.locate(path).line,
      ok: problems.length === 0,
      problems,
      at: toIsoMillis(this.#environment.emulator.clock.now()),
      seconds,
      output,
      notes,
      ...(command === undefined ? {} : { command }),
      ...(exit === undefined ? {} : { exit }),
    });
    this.#steps.push(result);
    await this.#options.onStep?.(result);
  }

  /** Explains why a program rejects all deliveries: it started before the scenario's emulator and uses another key. */
  async #findHint(): Promise<string | undefined> {
    const { receivers, signal } = this.#environment;
    try {
      const rejectedDelivery = (await listObservedDeliveries(this.#environment)).find(
        ({ to, answers }) => receivers.get(to)?.isProgram && [401, 403].includes(Number(answers.at(-1))),
      );
      if (rejectedDelivery === undefined) return undefined;
      const { seed = "demo" } = this.#parsed.scenario;
      const flag = typeof seed !== "string" || seed === "demo" ? "" : ` --seed ${seed}`;
      const key =
        typeof seed === "object"
          ? "the hmac_key of its workspace in the seed"
          : `the key of: svc emulator exec --deterministic${flag} -- printenv SVC_WEBHOOK_HMAC_KEY`;
      return `${rejectedDelivery.to} responded ${rejectedDelivery.answers.at(-1)}. The scenario signs with ${key}`;
    } catch {
      signal.throwIfAborted();
      return undefined;
    }
  }

  /** Formats the trace of the story's contract. Returns an empty list without a contract. */
  async #formatTrace(): Promise<readonly string[]> {
    if (this.#contract === undefined) return [];
    const { client, signal } = this.#environment;
    try {
      const trace = await client.call(showTrace, { params: { ref: this.#contract } }, { signal });
      return formatTree(trace).map(stripStyles);
    } catch {
      signal.throwIfAborted();
      return [];
    }
  }
}

/** Returns a step with its saved values. Returns the step unchanged if a value is missing. */
function tryResolveReferences(step: object, { values }: ScenarioEnvironment): unknown {
  try {
    return resolveReferences(step, values);
  } catch {
    return step;
  }
}

const getSecondsSince = (startedAt: number, wall: WallClock): number =>
  Math.round(wall.monotonicNow() - startedAt) / 1_000;

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
import { type ForEachLoop, type ScenarioStep, type StepKind, stepSchemas } from "./schema.ts";
import type { ScenarioStage } from "./stage.ts";
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
  stage: ScenarioStage,
  options: RunScenarioOptions,
): Promise<ScenarioResult> => new ScenarioRun(parsed, stage, options).run();

class ScenarioRun {
  readonly #parsed: ParsedScenario;
  readonly #stage: ScenarioStage;
  readonly #options: RunScenarioOptions;
  readonly #steps: StepResult[] = [];
  readonly #seen: ObservedValue[] = [];
  #contract: string | undefined;

  constructor(parsed: ParsedScenario, stage: ScenarioStage, options: RunScenarioOptions) {
    this.#parsed = parsed;
    this.#stage = stage;
    this.#options = options;
  }

  async run(): Promise<ScenarioResult> {
    const { scenario, file } = this.#parsed;
    const { wall, traces } = this.#options;
    const startedAt = wall.monotonicNow();
    const ok = await this.#runSteps(scenario.steps, ["steps"], "");
    const done = this.#steps.filter(({ number }) => !number.includes(".")).length;
    const trace = ok && !traces ? [] : await this.#formatTrace();
    const hint = ok ? undefined : await this.#findHint();
    return this.#stage.secrets.maskValue({
      file,
      name: scenario.name ?? "",
      ok,
      seconds: getSecondsSince(startedAt, wall),
      steps: this.#steps,
      skipped: ok ? 0 : Math.max(0, scenario.steps.length - Math.max(done, 1)),
      ...(hint === undefined ? {} : { hint }),
      traced: trace.length > 0 ? this.#contract : undefined,
      trace,
      seen: this.#seen,
    });
  }

  async #runSteps(steps: readonly ScenarioStep[], path: DocumentPath, prefix: string): Promise<boolean> {
    for (const [i, step] of steps.entries()) {
      this.#stage.signal.throwIfAborted();
      const number = `${prefix}${i + 1}`;
      const at = [...path, i];
      const ok = "for each" in step ? await this.#runLoop(step, at, number) : await this.#runOne(step, at, number);
      if (!ok) return false;
    }
    return true;
  }

  async #runLoop(step: ForEachLoop, path: DocumentPath, number: string): Promise<boolean> {
    const [name = "", given] = Object.entries(step["for each"])[0] ?? [];
    const { values } = this.#stage;
    const list = resolveReferences(given, values) as unknown;
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
    const kind = (Object.keys(stepSchemas) as StepKind[]).find((one) => one in step) as Exclude<StepKind, "for each">;
    const startedAt = this.#options.wall.monotonicNow();
    const done = await runStep(kind, step, this.#stage, this.#options.operations);
    // An interrupted command line is not a failure of the story.
    this.#stage.signal.throwIfAborted();
    this.#stage.secrets.recordSecrets(done.value);
    this.#follow(step, done);
    const problems = await this.#findProblems(step, path, kind, done, number.includes("."));
    if (problems.length === 0) problems.push(...this.#save(step, done, path));
    await this.#add(kind, step, number, path, done, problems, getSecondsSince(startedAt, this.#options.wall));
    return problems.length === 0;
  }

  async #findProblems(
    step: Exclude<ScenarioStep, ForEachLoop>,
    path: DocumentPath,
    kind: StepKind,
    done: StepObservation,
    isInLoop: boolean,
  ): Promise<ExpectationMismatch[]> {
    const { expect } = step;
    const { positions } = this.#parsed;
    const isFailureExpected =
      expect === null || (expect !== undefined && ("status" in expect || "failure" in expect || "exit" in expect));
    if (done.error !== undefined && !(isFailureExpected && (done.status ?? done.exit) !== undefined)) {
      return [{ message: done.error, ...positions.locateKey(path, kind) }];
    }
    const getPath = (below: DocumentPath) => [...path, "expect", ...below] as (string | number)[];
    if (this.#options.update && expect === null && !isInLoop) {
      const { status, failures: [failure] = [], exit } = done;
      const seen = Object.entries({ status, failure, exit }).filter(([, value]) => value !== undefined);
      if (seen.length > 0) this.#seen.push({ path: getPath([]), value: Object.fromEntries(seen) });
    }
    if (!expect) return [];
    const differences = await checkExpectations(expect, done, this.#stage);
    if (this.#options.update && !isInLoop) {
      for (const { path: below, seen } of differences) {
        const written = getValueAt(expect, below.join("."));
        const value = restoreReferences(seen ?? null, written, this.#stage.values);
        this.#seen.push({ path: getPath(below), value });
      }
      return [];
    }
    return differences.map(({ path: below, message }) => ({ message, ...positions.locate(getPath(below)) }));
  }

  #save(step: Exclude<ScenarioStep, ForEachLoop>, done: StepObservation, path: DocumentPath): ExpectationMismatch[] {
    const save = "save" in step ? step.save : undefined;
    if (save === undefined) return [];
    const { values, secrets } = this.#stage;
    const wanted = typeof save === "string" ? { [save]: "" } : save;
    return Object.entries(wanted).flatMap(([name, below]) => {
      const value = getValueAt(done.value, below);
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
    const texts = [composite_id, id, title, JSON.stringify(tryResolveReferences(step, this.#stage))];
    this.#contract = /(?<![\w-])[TH]-\d+(?![\w-])/.exec(texts.join("\n"))?.[0] ?? this.#contract;
  }

  async #add(
    kind: StepKind,
    step: Pick<ScenarioStep, "title">,
    number: string,
    path: DocumentPath,
    done: StepObservation,
    problems: readonly ExpectationMismatch[],
    seconds: number,
  ): Promise<void> {
    const { title, outcome, output = "", notes = "", command, exit } = done;
    const result = this.#stage.secrets.maskValue<StepResult>({
      number,
      kind,
      title: step.title ?? title,
      outcome,
      line: this.#parsed.positions.locate(path).line,
      ok: problems.length === 0,
      problems,
      at: toIsoMillis(this.#stage.emulator.clock.now()),
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
    const { receivers, signal } = this.#stage;
    try {
      const rejected = (await listObservedDeliveries(this.#stage)).find(
        ({ to, answers }) => receivers.get(to)?.isProgram && [401, 403].includes(Number(answers.at(-1))),
      );
      if (rejected === undefined) return undefined;
      const { seed = "demo" } = this.#parsed.scenario;
      const flag = typeof seed !== "string" || seed === "demo" ? "" : ` --seed ${seed}`;
      const key =
        typeof seed === "object"
          ? "the hmac_key of its workspace in the seed"
          : `the key of: svc emulator exec --deterministic${flag} -- printenv SVC_WEBHOOK_HMAC_KEY`;
      return `${rejected.to} responded ${rejected.answers.at(-1)}. The scenario signs with ${key}`;
    } catch {
      signal.throwIfAborted();
      return undefined;
    }
  }

  /** Formats the trace of the story's contract. Returns an empty list without a contract. */
  async #formatTrace(): Promise<readonly string[]> {
    if (this.#contract === undefined) return [];
    const { client, signal } = this.#stage;
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
function tryResolveReferences(step: object, { values }: ScenarioStage): unknown {
  try {
    return resolveReferences(step, values);
  } catch {
    return step;
  }
}

const getSecondsSince = (startedAt: number, wall: WallClock): number =>
  Math.round(wall.monotonicNow() - startedAt) / 1_000;

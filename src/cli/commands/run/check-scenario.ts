import * as z from "zod";
import type { Operation } from "../../../api/operation.ts";
import { registry } from "../../../api/registry.ts";
import { isObject, isOneOf, toFields } from "../../../base/object.ts";
import { findNearest } from "../../../base/text.ts";
import { splitWords } from "../../process/shell-words.ts";
import { findReferences } from "./references.ts";
import { Scenario, type StepKind, type StepOf, stepSchemas } from "./schema.ts";
import { findSchemaProblems, suggestSimilar } from "./schema-problems.ts";

/** Path in a scenario: keys and indexes. */
export type ScenarioPath = readonly PropertyKey[];

export interface FilePosition {
  /** Path of the file as given. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** Locates the value at a path, or a key of the map there. A missing value has the position of its nearest parent. */
export type LocateInFile = (path: ScenarioPath, key?: string) => FilePosition;

export interface ScenarioProblem extends FilePosition {
  readonly sentence: string;
}

const initialValueNames = ["cluster_id", "router_url", "contracts_url", "client_id"] as const;

const stepKinds = Object.keys(stepSchemas) as StepKind[];
const stepKeys = new Set(Object.values(stepSchemas).flatMap(({ shape }) => Object.keys(shape)));

/** Steps are checked one by one, by the schema of their kind. */
const uncheckedSteps = z.unknown().optional();

/** Receives each well-formed command line of a scenario, whose other steps can be invalid. */
export type CommandLineListener = (words: readonly string[], position: FilePosition) => void;

/** Returns undefined if a quote is not closed. References within a word are not split. */
export const splitCommandLine = (svc: StepOf<"svc">["svc"]): readonly string[] | undefined =>
  typeof svc === "string" ? splitWords(svc) : svc.map(String);

export function findScenarioProblems(
  scenario: Record<string, unknown>,
  locate: LocateInFile,
  onCommandLine: CommandLineListener,
) {
  const receivers = new Set<string>();
  const names = new Set<string>(initialValueNames);
  const problems: ScenarioProblem[] = [];
  const isHeadValid = checkSchema(Scenario.extend({ steps: uncheckedSteps }), scenario, []);
  // A misspelled key also causes a missing key.
  if (isHeadValid || scenario.steps !== undefined) checkSteps(scenario.steps, [], "steps is required.");
  return problems.sort((a, b) => a.line - b.line || a.column - b.column);

  /** Reports a problem of the value at a path, or of a key of the map there. */
  function report(path: ScenarioPath, sentence: string, key?: string): void {
    problems.push({ ...locate(path, key), sentence });
  }

  function checkSchema(schema: z.ZodType, value: unknown, path: ScenarioPath): boolean {
    const schemaProblems = findSchemaProblems(schema, value);
    for (const problem of schemaProblems) report([...path, ...problem.path], problem.sentence, problem.key);
    return schemaProblems.length === 0;
  }

  function checkSteps(steps: unknown, parent: ScenarioPath, missing: string): void {
    const path = [...parent, "steps"];
    if (!Array.isArray(steps) || steps.length === 0) {
      if (steps === undefined) report(parent, missing);
      else report(path, "steps must be a list with at least one step.");
      return;
    }
    for (const [i, step] of steps.entries()) {
      if (!isObject(step)) {
        report([...path, i], `A step must be a map with one of ${stepKinds.join(", ")}.`);
        continue;
      }
      checkStep(step, [...path, i]);
      // Later steps can use the names of an invalid one.
      recordNames(step);
    }
  }

  function checkStep(step: Record<string, unknown>, path: ScenarioPath): void {
    const kind = findKind(step, path);
    if (kind === undefined) return;
    if (kind === "for each") {
      if (checkSchema(stepSchemas[kind].extend({ steps: uncheckedSteps }), step, path)) checkLoop(step, path);
      return;
    }
    const isValid = checkSchema(stepSchemas[kind], step, path);
    checkReferences(step, path, kind);
    if (!isValid) return;
    if (kind === "call") checkCall(step, path);
    if (kind === "svc") checkCommandLine(step.svc as StepOf<"svc">["svc"], [...path, "svc"]);
    checkReceivers(toFields(step.expect), [...path, "expect"]);
  }

  function checkCommandLine(svc: StepOf<"svc">["svc"], path: ScenarioPath): void {
    const words = splitCommandLine(svc);
    if (words === undefined) report(path, "svc has a quote that is not closed.");
    else onCommandLine(words, locate(path));
  }

  function findKind(step: Record<string, unknown>, path: ScenarioPath): StepKind | undefined {
    const keys = Object.keys(step);
    const kinds = keys.filter((key) => isOneOf(stepKinds, key));
    const [kind, otherKind] = kinds.length > 1 ? kinds.filter((name) => name !== "expect") : kinds;
    if (otherKind === undefined && kind !== undefined) return kind;
    const unknownKeys = keys.filter((key) => !stepKeys.has(key));
    const misspelledKey = unknownKeys.find((key) => findNearest(key, stepKinds) !== undefined);
    const key = misspelledKey ?? unknownKeys[0];
    const hint = misspelledKey
      ? `Did you mean ${findNearest(misspelledKey, stepKinds)}?`
      : `A step has one of ${stepKinds.join(", ")}.`;
    if (otherKind !== undefined) report(path, `${kind} cannot be used with ${otherKind} in one step.`, otherKind);
    else if (key === undefined) report(path, `A step must have one of ${stepKinds.join(", ")}.`);
    else report(path, `Unknown key "${key}" of a step. ${hint}`, key);
    return undefined;
  }

  function checkLoop(step: Record<string, unknown>, path: ScenarioPath): void {
    const loop = toFields(step["for each"]);
    checkReferences(loop, [...path, "for each"], "for each");
    const newNames = Object.keys(loop).filter((name) => !names.has(name));
    for (const name of newNames) names.add(name);
    checkSteps(step.steps, path, "steps is required in a step with for each.");
    for (const name of newNames) names.delete(name);
  }

  function checkCall(step: Record<string, unknown>, path: ScenarioPath): void {
    const { call } = step;
    const operation: Operation | undefined = registry.find(({ id }) => id === call);
    if (!operation) {
      const nearest = findNearest(
        String(call),
        registry.map(({ id }) => id),
      );
      const hint = nearest === undefined ? "svc openapi lists the operations." : `Did you mean ${nearest}?`;
      report([...path, "call"], `Unknown operation "${call}". ${hint}`);
      return;
    }
    const { request } = operation;
    for (const part of ["params", "query"] as const) {
      const fields = toFields(step[part]);
      const declaredNames = Object.keys((request[part] as { shape?: object } | undefined)?.shape ?? {});
      const isOperator = (key: string) => part === "query" && key.includes("[");
      const unknownNames = Object.keys(fields).filter((key) => !declaredNames.includes(key) && !isOperator(key));
      for (const name of unknownNames) {
        const hint = suggestSimilar(name, declaredNames);
        report([...path, part], `Unknown key "${name}" in ${part} of ${call}. ${hint}`, name);
      }
      const missing = part === "params" ? declaredNames.find((key) => fields[key] === undefined) : undefined;
      // A misspelled key also causes a missing key.
      if (missing !== undefined && unknownNames.length === 0) report(path, `params.${missing} is required by ${call}.`);
    }
    if (step.body !== undefined && request.body === undefined)
      report(path, `body cannot be used with ${call}.`, "body");
  }

  function checkReferences(value: unknown, path: ScenarioPath, kind: StepKind): void {
    for (const { name, path: below } of findReferences(value)) {
      // Paths of `save` contain no values, and checks can use saved values.
      if (below[0] === "save" || names.has(name) || (kind === "receiver" && below[0] === "expect")) continue;
      report([...path, ...below], `$${name} is not saved by an earlier step. ${suggestSimilar(name, [...names])}`);
    }
  }

  function checkReceivers({ deliveries, webhooks }: Readonly<Record<string, unknown>>, path: ScenarioPath): void {
    const checkName = (name: string, place: ScenarioPath, key?: string) => {
      const hint = suggestSimilar(name, [...receivers]);
      if (!receivers.has(name)) report(place, `No earlier step opens the receiver "${name}". ${hint}`, key);
    };
    for (const [i, { to }] of (Array.isArray(deliveries) ? deliveries : []).entries()) {
      if (to !== undefined) checkName(to, [...path, "deliveries", i, "to"]);
    }
    for (const name of Object.keys(toFields(webhooks))) checkName(name, [...path, "webhooks"], name);
  }

  function recordNames({ save, receiver }: Record<string, unknown>): void {
    for (const name of typeof save === "string" ? [save] : Object.keys(toFields(save))) names.add(name);
    if (receiver === undefined) return;
    names.add(String(receiver));
    receivers.add(String(receiver));
  }
}

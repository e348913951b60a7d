import { type Document, LineCounter, parseDocument, visit } from "yaml";
import * as z from "zod";
import type { Operation } from "../../../api/operation.ts";
import { isObject, isOneOf, toFields } from "../../../base/object.ts";
import { findNearest } from "../../../base/text.ts";
import { stripByteOrderMark } from "../../parse/body.ts";
import { splitWords } from "../../process/shell-words.ts";
import { findSchemaProblems, suggestSimilar } from "./issues.ts";
import {
  compareByPosition,
  type DocumentPath,
  type DocumentPosition,
  DocumentPositions,
  InvalidScenarioError,
  ScenarioError,
} from "./problem.ts";
import { findReferences } from "./references.ts";
import { Scenario, type StepKind, stepSchemas } from "./schema.ts";

export interface ParsedScenario {
  /** Path of the file as given. */
  readonly file: string;
  readonly scenario: Scenario;
  /** Content of the file without its byte order mark. */
  readonly text: string;
  /** Byte order mark of the file. Empty if there is none. */
  readonly mark: string;
  readonly document: Document;
  readonly positions: DocumentPositions;
}

/** Maximum length of a scenario file. */
const maxScenarioCharacters = 1_000_000;

/** @throws InvalidScenarioError with all problems. */
export function parseScenario(file: string, content: string, operations: readonly Operation[]): ParsedScenario {
  const text = stripByteOrderMark(content);
  const byteOrderMark = content.slice(0, content.length - text.length);
  const lines = new LineCounter();
  const fail = (position: DocumentPosition, sentence: string): never => {
    throw new InvalidScenarioError([new ScenarioError(file, position, sentence)]);
  };
  if (text.length > maxScenarioCharacters) fail({ line: 1, column: 1 }, "The file is too long for a scenario.");
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [syntaxIssue = document.warnings[0]] = document.errors;
  if (syntaxIssue) {
    const { line, col } = lines.linePos(Math.min(syntaxIssue.pos[0], text.length));
    fail(
      { line: Math.max(line, 1), column: Math.max(col, 1) },
      `The file is not YAML: ${toSentence(syntaxIssue.message)}`,
    );
  }
  const positions = new DocumentPositions(document, lines);
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    return fail(findUnresolvedAlias(document, lines), `The file is not YAML: ${toSentence((error as Error).message)}`);
  }
  if (!isObject(value)) return fail(positions.locate([]), "A scenario must be a map with steps.");
  checkScenario(value, file, positions, operations);
  return { file, scenario: value as unknown as Scenario, text, mark: byteOrderMark, document, positions };
}

/** Finds the first alias without an anchor. Returns the beginning of the file if there is none. */
function findUnresolvedAlias(document: Document, lines: LineCounter): DocumentPosition {
  let position: DocumentPosition = { line: 1, column: 1 };
  visit(document, {
    Alias(_, alias) {
      if (alias.resolve(document) !== undefined || !alias.range) return undefined;
      const { line, col } = lines.linePos(alias.range[0]);
      position = { line, column: col };
      return visit.BREAK;
    },
  });
  return position;
}

const toSentence = (text: string): string =>
  text
    .split("\n")[0]!
    .trim()
    .replace(/[.:]?$/, ".");

/** Names of the values that are available from the beginning. */
const initialValueNames = ["cluster_id", "router_url", "contracts_url", "client_id"] as const;

const stepKinds = Object.keys(stepSchemas) as StepKind[];

/** Steps are checked one by one, by the schema of their kind. */
const uncheckedSteps = z.unknown().optional();

/** @throws InvalidScenarioError with all problems, in the order of their positions. */
function checkScenario(
  scenario: Record<string, unknown>,
  file: string,
  positions: DocumentPositions,
  operations: readonly Operation[],
): void {
  const receivers = new Set<string>();
  const names = new Set<string>(initialValueNames);
  const problems: ScenarioError[] = [];
  const isHeadValid = collect(() => check(Scenario.extend({ steps: uncheckedSteps }), scenario, []));
  // A misspelled key also causes a missing key.
  if (isHeadValid || scenario.steps !== undefined) collect(() => checkSteps(scenario.steps, [], "steps is required."));
  if (problems.length > 0) throw new InvalidScenarioError(problems.sort(compareByPosition));

  /** Collects the problem that ends a check, so that the next checks run. Returns whether there was none. */
  function collect(work: () => void): boolean {
    try {
      work();
      return true;
    } catch (error) {
      if (!(error instanceof ScenarioError)) throw error;
      problems.push(error);
      return false;
    }
  }

  /** Checks the steps of the map at a path. */
  function checkSteps(steps: unknown, parent: DocumentPath, missing: string): void {
    const path = [...parent, "steps"];
    if (steps === undefined) fail(parent, missing);
    if (!Array.isArray(steps) || steps.length === 0) fail(path, "steps must be a list with at least one step.");
    for (const [i, step] of steps.entries()) {
      collect(() => checkStep(step, [...path, i]));
      // Later steps can use the names of an invalid one.
      if (isObject(step)) recordNames(step);
    }
  }

  function checkStep(step: unknown, path: DocumentPath): void {
    if (!isObject(step)) fail(path, `A step must be a map with one of ${stepKinds.join(", ")}.`);
    const kind = getKind(step, path);
    if (kind === "for each") {
      check(stepSchemas[kind].extend({ steps: uncheckedSteps }), step, path);
      checkLoop(step, path);
      return;
    }
    const isValid = collect(() => check(stepSchemas[kind], step, path));
    checkReferences(step, path, kind);
    if (!isValid) return;
    if (kind === "call") checkCall(step, path);
    if (kind === "svc" && typeof step.svc === "string" && splitWords(step.svc) === undefined) {
      fail([...path, "svc"], "svc has a quote that is not closed.");
    }
    checkReceivers(step.expect, [...path, "expect"]);
  }

  function getKind(step: Record<string, unknown>, path: DocumentPath): StepKind {
    const keys = Object.keys(step);
    const kinds = keys.filter((key) => isOneOf(stepKinds, key));
    const [kind, otherKind] = kinds.length > 1 ? kinds.filter((name) => name !== "expect") : kinds;
    if (otherKind !== undefined) failAtKey(path, otherKind, `${kind} cannot be used with ${otherKind} in one step.`);
    if (kind !== undefined) return kind;
    const misspelledKey = keys.find((key) => findNearest(key, stepKinds) !== undefined);
    const key = misspelledKey ?? keys[0];
    if (key === undefined) fail(path, `A step must have one of ${stepKinds.join(", ")}.`);
    const hint = misspelledKey
      ? `Did you mean ${findNearest(misspelledKey, stepKinds)}?`
      : `A step has one of ${stepKinds.join(", ")}.`;
    failAtKey(path, key, `Unknown key "${key}" of a step. ${hint}`);
  }

  function checkLoop(step: Record<string, unknown>, path: DocumentPath): void {
    const loop = step["for each"] as Record<string, unknown>;
    checkReferences(loop, [...path, "for each"], "for each");
    const outer = new Set(names);
    for (const name of Object.keys(loop)) names.add(name);
    checkSteps(step.steps, path, "steps is required in a step with for each.");
    for (const name of Object.keys(loop)) if (!outer.has(name)) names.delete(name);
  }

  function checkCall(step: Record<string, unknown>, path: DocumentPath): void {
    const { call } = step;
    const operation = operations.find(({ id }) => id === call);
    if (!operation) {
      const ids = operations.map(({ id }) => id);
      const nearest = findNearest(String(call), ids);
      const hint = nearest === undefined ? "svc openapi lists the operations." : `Did you mean ${nearest}?`;
      fail([...path, "call"], `Unknown operation "${call}". ${hint}`);
    }
    const { request } = operation;
    for (const part of ["params", "query"] as const) {
      const fields = toFields(step[part]);
      const declaredNames = Object.keys((request[part] as { shape?: object } | undefined)?.shape ?? {});
      const isOperator = (key: string) => part === "query" && key.includes("[");
      const unknownNames = Object.keys(fields).filter((key) => !declaredNames.includes(key) && !isOperator(key));
      for (const name of unknownNames) {
        const sentence = `Unknown key "${name}" in ${part} of ${call}. ${suggestSimilar(name, declaredNames)}`;
        collect(() => failAtKey([...path, part], name, sentence));
      }
      if (unknownNames.length > 0) continue;
      const missing = part === "params" ? declaredNames.find((key) => fields[key] === undefined) : undefined;
      if (missing !== undefined) fail(path, `params.${missing} is required by ${call}.`);
    }
    if (step.body !== undefined && request.body === undefined) {
      failAtKey(path, "body", `body cannot be used with ${call}.`);
    }
  }

  function checkReferences(value: unknown, path: DocumentPath, kind: StepKind): void {
    for (const { name, path: below } of findReferences(value)) {
      // Paths of `save` contain no values, and checks can use saved values.
      if (below[0] === "save" || names.has(name)) continue;
      if (kind === "receiver" && below[0] === "expect") continue;
      const sentence = `$${name} is not saved by an earlier step. ${suggestSimilar(name, [...names])}`;
      collect(() => fail([...path, ...below], sentence));
    }
  }

  function checkReceivers(expect: unknown, path: DocumentPath): void {
    if (!isObject(expect)) return;
    const known = [...receivers];
    const describeUnknown = (name: string) =>
      `No earlier step opens the receiver "${name}". ${suggestSimilar(name, known)}`;
    for (const [i, { to }] of (Array.isArray(expect.deliveries) ? expect.deliveries : []).entries()) {
      if (to === undefined || known.includes(to)) continue;
      collect(() => fail([...path, "deliveries", i, "to"], describeUnknown(to)));
    }
    for (const name of Object.keys(expect.webhooks ?? {})) {
      if (known.includes(name)) continue;
      collect(() => failAtKey([...path, "webhooks"], name, describeUnknown(name)));
    }
  }

  function recordNames({ save, receiver }: Record<string, unknown>): void {
    if (typeof save === "string") names.add(save);
    else for (const name of Object.keys((save ?? {}) as object)) names.add(name);
    if (receiver === undefined) return;
    names.add(String(receiver));
    receivers.add(String(receiver));
  }

  /** Reports all problems of a value. The last one ends the checks of the step. */
  function check(schema: z.ZodType, value: unknown, path: DocumentPath): void {
    const schemaProblems = findSchemaProblems(schema, value);
    for (const [i, problem] of schemaProblems.entries()) {
      const issuePath = [...path, ...problem.path];
      const report = () =>
        problem.key === undefined
          ? fail(issuePath, problem.sentence)
          : failAtKey(issuePath, problem.key, problem.sentence);
      if (i === schemaProblems.length - 1) report();
      else collect(report);
    }
  }

  function fail(path: DocumentPath, sentence: string): never {
    throw new ScenarioError(file, positions.locate(path), sentence);
  }

  function failAtKey(path: DocumentPath, key: string, sentence: string): never {
    throw new ScenarioError(file, positions.locateKey(path, key), sentence);
  }
}

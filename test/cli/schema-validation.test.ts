import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { CallableOperation, Operation } from "../../src/api/operation.ts";
import { getOperationById } from "../../src/api/registry.ts";
import { convertValue } from "../../src/cli/parse/values.ts";
import { UsageError } from "../../src/cli/process/failure.ts";
import type { Host } from "../../src/cli/process/host.ts";
import { buildArguments } from "../../src/cli/runtime/arguments.ts";
import { type CallArguments, CheckedCall } from "../../src/client/checked-call.ts";
import { type ArgumentProblem, InvalidArgumentsError } from "../../src/client/errors.ts";
import type { CommandSpec, FlagSpec, PositionalSpec } from "../../src/derive/command-spec.ts";
import { deriveSpecs } from "../../src/derive/specs.ts";

const specs = Object.values(deriveSpecs()).flat();
const requireOperation = (spec: CommandSpec) => getOperationById(spec.id) as Operation;

/** Valid and invalid values that users may enter. */
const word = fc.oneof(
  fc.string(),
  fc.integer().map(String),
  fc.double().map(String),
  fc.bigInt().map(String),
  fc.constantFrom("", " ", "-", "0", "-0", "null", "true", "1e400", "9007199254740993", "jo@acme.example", "T-1"),
);

function createValueArbitrary(spec: FlagSpec | PositionalSpec): fc.Arbitrary<unknown> {
  const { type = "text", choices } = spec;
  if (type === "switch") return fc.constant(true);
  if (type === "boolean") return fc.boolean();
  const accepted = (choices ? fc.constantFrom(...choices) : word).filter((text) => isAccepted(text, spec));
  const value = accepted.map((text) => convertValue("--flag", text, type, choices));
  return "repeatable" in spec && spec.repeatable ? fc.array(value, { minLength: 1, maxLength: 3 }) : value;
}

/** Whether a path segment can hold the value. Parsing rejects other values (test/cli/usage). */
const isSegment = (value: unknown): boolean => !["", ".", ".."].includes(String(value).trim());

function isAccepted(text: string, { type = "text", choices }: FlagSpec | PositionalSpec): boolean {
  try {
    convertValue("--flag", text, type as Exclude<FlagSpec["type"], "switch">, choices);
    return true;
  } catch (error) {
    if (error instanceof UsageError) return false;
    throw error;
  }
}

describe("command without schema validation", () => {
  const free = specs.filter(({ schemaChecked }) => schemaChecked !== "all");

  it("includes more than 50 commands", () => assert.ok(free.length > 50, `${free.length} of ${specs.length}`));

  for (const spec of free) {
    it(`sends only declared input: ${spec.words.join(" ")}`, async () => {
      const isFree = (name: string) => !spec.schemaChecked.includes(name);
      const ruled = new Set(spec.schemaChecked);
      for (const { flag, target } of spec.flags) if (target && !isFree(flag)) ruled.add(target.name);
      const flags = spec.flags.filter(({ flag, target }) => target !== undefined && isFree(flag));
      const record = (entries: [string, fc.Arbitrary<unknown>][], requiredKeys: string[]) =>
        fc.record(Object.fromEntries(entries), { requiredKeys });
      const input = fc.record({
        positionals: record(
          spec.positionals
            .filter(({ name }) => isFree(name))
            .map((spec) => [spec.name, createValueArbitrary(spec).filter(isSegment)]),
          spec.positionals.map(({ name }) => name).filter(isFree),
        ),
        flags: record(
          flags.map((spec) => [spec.flag, createValueArbitrary(spec)]),
          flags.flatMap(({ flag, required }) => (required ? [flag] : [])),
        ),
      });
      await fc.assert(
        fc.asyncProperty(input, async ({ positionals, flags }) => {
          const parsedWords = { positionals, flags } as unknown as Parameters<typeof buildArguments>[2];
          const bare = { ...spec, request: {} };
          const { args } = await buildArguments(bare, bare, parsedWords, {} as Host);
          const problems = findProblems(requireOperation(spec), args);
          assert.deepEqual(
            problems.filter(({ path }) => !ruled.has(String(path[0]))),
            [],
          );
        }),
        { numRuns: 60 },
      );
    });
  }
});

function findProblems(operation: Operation, args: CallArguments): readonly ArgumentProblem[] {
  try {
    CheckedCall.check(operation, args);
    return [];
  } catch (error) {
    if (error instanceof InvalidArgumentsError) return error.problems;
    throw error;
  }
}

describe("operation of a command", () => {
  const pickOperation = (operation: CallableOperation): CallableOperation => {
    const { id, service, method, path, auth, request, responses, maxDurationMs } = operation;
    return {
      id,
      service,
      method,
      path,
      auth,
      request,
      responses,
      ...(maxDurationMs !== undefined && { maxDurationMs }),
    };
  };

  it("equals the declaration without schemas for every operation", () => {
    for (const spec of specs) {
      const { service, request, responses, ...operation } = pickOperation(requireOperation(spec));
      assert.deepEqual(pickOperation(spec), {
        ...operation,
        service: { name: service.name },
        request: request.body ? { body: { kind: request.body.kind } } : {},
        responses: Object.fromEntries(
          Object.entries(responses).map(([status, response]) => {
            const { schema: _, ...rest } = response as { schema?: unknown };
            return [status, rest];
          }),
        ),
      });
    }
  });
});

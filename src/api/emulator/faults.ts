import * as z from "zod";
import { activities } from "../activities.ts";
import { defineOperation, empty, json, responseHeaders } from "../operation.ts";
import { controlOperation } from "../services.ts";
import { createFieldIssue, duration, optionalString, requireField } from "../shapes.ts";

/** Which of the matching requests or attempts are affected, for both directions. */
const turns = {
  nth: z.int().min(1).default(1).describe("First matching request or attempt to affect"),
  count: z.int().min(1).optional().describe("Number of matches to affect (default: until it is removed)"),
  chance: z.number().min(0).max(1).default(1).describe("Share of the matches to affect, from 0 to 1"),
  seed: z.int().default(1).describe("Seed of `chance`: the same seed affects the same matches"),
};

const incoming = {
  service: z
    .enum(["router", "contracts", "storage"])
    .optional()
    .describe("Incoming: only this service; the control plane is never affected"),
  operation: optionalString.describe("Incoming: only this operation, by ID: contracts.create"),
  method: z.enum(["GET", "POST", "PUT", "PATCH", "DELETE"]).optional().describe("Incoming: only this method"),
  path: z
    .string()
    .startsWith("/", "must start with /")
    .optional()
    .describe("Path of the request or the receiver; * matches anything"),
  header: z.string().min(1).optional().describe("Incoming: only with this header (name) or this value (name: value)"),
  latency_ms: z.int().min(1).max(600_000).optional().describe("Incoming: delay in milliseconds, on the wall clock"),
  reset: z.literal(true).optional().describe("Incoming: close the connection without a response"),
  status: z.int().min(200).max(599).optional().describe("Incoming: respond with this status instead"),
  response_headers: responseHeaders.optional().describe("Headers of the response; requires status"),
  response_body: z.unknown().optional().describe("JSON body of the response; requires status"),
  truncated: z.literal(true).optional().describe("Incoming: close the connection after half of the response"),
};

/** Faults of outgoing webhooks. */
export const outgoingEffects = ["duplicate", "reorder", "delay", "drop", "tamper", "wrong_key"] as const;
export type OutgoingEffect = (typeof outgoingEffects)[number];

const outgoing = {
  webhook: z.int().optional().describe("Outgoing: only this webhook"),
  activity: z.enum(activities).optional().describe("Outgoing: only attempts for this activity"),
  contract: z.int().optional().describe("Outgoing: only this contract, by its number"),
  attempt: z
    .int()
    .min(1)
    .optional()
    .describe("Outgoing: only this attempt of the schedule, from 1; resends do not count"),
  effect: z
    .enum(outgoingEffects)
    .optional()
    .describe(
      "Outgoing: send twice (duplicate), after the next delivery (reorder), later (delay), not at all (drop), " +
        "with a body changed after signing (tamper), or signed with another key (wrong_key)",
    ),
  delay: duration("PT5M or 5m")
    .optional()
    .describe("Outgoing: virtual time of `delay`, maximum of `reorder` (default: PT1M)"),
};

const matchers = z.object({
  direction: z.enum(["incoming", "outgoing"]).describe("Affect incoming requests or outgoing webhooks"),
  ...turns,
  ...incoming,
  ...outgoing,
});
type FaultFields = z.infer<typeof matchers>;

const { path: _, ...onlyIncoming } = incoming;
const incomingFields = Object.keys(onlyIncoming) as (keyof typeof onlyIncoming)[];
const statusFields = ["response_headers", "response_body"] as const;
const effectsOfIncoming = ["latency_ms", "reset", "status", "truncated"] as const;
const delaying: readonly OutgoingEffect[] = ["delay", "reorder"];
const outgoingFields = Object.keys(outgoing) as (keyof typeof outgoing)[];

/** Returns the rule of each contradiction, such as a fault without an effect or a field of the other direction. */
function findContradictions(input: FaultFields): string[] {
  const foreign = input.direction === "incoming" ? outgoingFields : incomingFields;
  const problems = foreign
    .filter((name) => input[name] !== undefined)
    .map((name) => `{${name}} cannot be used with {direction} ${input.direction}`);
  if (input.direction === "incoming" && effectsOfIncoming.every((name) => input[name] === undefined)) {
    problems.push("one of {latency_ms}, {reset}, {status} and {truncated} is required");
  }
  if (input.direction === "outgoing" && input.effect === undefined) problems.push("{effect} is required");
  if (input.direction === "incoming" && input.status === undefined) {
    problems.push(
      ...statusFields.filter((name) => input[name] !== undefined).map((name) => `{${name}} requires {status}`),
    );
  }
  if (input.delay !== undefined && !(input.effect && delaying.includes(input.effect))) {
    problems.push("{delay} requires the effect delay or reorder");
  }
  return problems;
}

const forbidFields = (names: readonly string[]) => ({ not: { anyOf: names.map(requireField) } });

/** The same rules in JSON Schema, for the OpenAPI documents. */
const fieldConflictRules = {
  if: { properties: { direction: { const: "incoming" } } },
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema calls it so, and nothing awaits a schema.
  then: {
    ...forbidFields(outgoingFields),
    anyOf: effectsOfIncoming.map(requireField),
    dependentRequired: Object.fromEntries(statusFields.map((name) => [name, ["status"]])),
  },
  else: {
    ...forbidFields(incomingFields),
    ...requireField("effect"),
    if: requireField("delay"),
    // biome-ignore lint/suspicious/noThenProperty: as above.
    then: { properties: { effect: { enum: delaying } } },
  },
};

const CheckedFault = matchers
  .superRefine((input, context) => {
    for (const rule of findContradictions(input))
      context.addIssue({ code: "custom", path: [], ...createFieldIssue(rule) });
  })
  .meta(fieldConflictRules);

/** A scripted fault, with its targets and its effect. */
export type FaultRule = z.infer<typeof CheckedFault>;

export const Fault = z.strictObject({
  id: z.int(),
  ...matchers.shape,
  matched: z.int().describe("Number of requests or attempts that matched"),
  hit: z.int().describe("Number of affected matches"),
});

/** Columns of the targets and the effect. Most are empty for any single fault, so narrow windows omit them first. */
const columns = [
  "id",
  "direction",
  "service",
  "operation",
  "activity",
  "effect",
  "status",
  "webhook",
  "contract",
  "attempt",
  "method",
  { name: "path", shrinkPriority: 1, omits: "start" },
  { name: "header", shrinkPriority: 2 },
  "latency_ms",
  "reset",
  "truncated",
  "delay",
  "nth",
  "count",
  "chance",
  { name: "matched", purpose: true },
  { name: "hit", purpose: true },
] as const;

export const addFault = defineOperation({
  id: "faults.add",
  ...controlOperation,
  summary: "Add a fault for incoming requests or outgoing webhooks",
  description:
    "If several faults match, the oldest one applies. Faults are kept in memory until they are removed, or the emulator is reset or stopped. A fault without a service and an operation affects a request once, at the first server that receives it.",
  method: "POST",
  path: "/_emulator/faults",
  request: { body: json(CheckedFault) },
  responses: { 201: json(Fault) },
  cli: { command: "emulator fault add", columns },
  examples: [
    {
      title: "Let two creations fail",
      body: { direction: "incoming", operation: "contracts.create", status: 503, count: 2 },
    },
    { title: "Delay look-ups", body: { direction: "incoming", service: "router", method: "GET", latency_ms: 2000 } },
    { title: "Send every webhook twice", body: { direction: "outgoing", effect: "duplicate" } },
  ],
});

export const listFaults = defineOperation({
  id: "faults.list",
  ...controlOperation,
  summary: "List the faults with their number of matches",
  path: "/_emulator/faults",
  responses: { 200: json(z.array(Fault)) },
  cli: { command: "emulator fault list", columns },
  examples: [{ title: "List the faults" }],
});

export const removeFault = defineOperation({
  id: "faults.remove",
  ...controlOperation,
  summary: "Remove a fault",
  method: "DELETE",
  path: "/_emulator/faults/{id}",
  request: { params: z.object({ id: z.int().describe("ID of the fault") }) },
  responses: { 204: empty() },
  failures: ["no-such-fault"],
  cli: { command: "emulator fault remove" },
  examples: [{ title: "Remove a fault", params: { id: 1 } }],
});

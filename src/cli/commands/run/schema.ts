import * as z from "zod";
import { activities } from "../../../api/activities.ts";
import { addFault } from "../../../api/emulator/faults.ts";
import { registry } from "../../../api/registry.ts";
import { dictionary } from "../../../api/shapes.ts";
import { deliveryOutcomes } from "../../../api/webhook-retries.ts";
import { durationPattern, parseDuration, parseIsoTime } from "../../../base/quantities.ts";

const createNamedMap = <Value extends z.ZodType>(pattern: RegExp, message: string, value: Value) =>
  dictionary(value, z.string().regex(pattern, message)).meta({ propertyNames: { pattern: pattern.source } });

/** Pattern of file names in the working directory of command lines. */
export const fileNamePattern = /^[\w-][\w.-]*$/;

const namePattern = /^[a-zA-Z][a-zA-Z0-9_]*$/;
const nameMessage = "must be a name (letters, digits and _)";

/** Name of a saved value, a receiver or a loop variable, such as `contract`. */
const nameSchema = z.string().regex(namePattern, nameMessage);

export const savedValueMessage = "must be a saved value ($name)";

/** Saved value: `$contract`, or `${app.url}` within a string. */
const referenceSchema = z
  .string()
  .regex(/\$/, { error: savedValueMessage, abort: true })
  .describe("A saved value: $name");

const allowReference = <T extends z.ZodType>(schema: T) => z.union([schema, referenceSchema]);

/** Reports whether a string is an RFC 3339 time. The offset is required because machines have different time zones. */
const isTime = (text: string): boolean => /(?:Z|[+-]\d\d:\d\d)$/i.test(text) && !Number.isNaN(parseIsoTime(text));

const advanceTargetSchema = z
  .string()
  .refine(
    (text) => text === "next" || text === "idle" || (parseDuration(text) ?? -1) >= 0 || isTime(text),
    "must be a duration (30s, PT2H35M), a time (2031-01-02T03:04:05Z), next or idle",
  )
  .meta({ anyOf: [{ enum: ["next", "idle"] }, { pattern: durationPattern }, { format: "date-time" }] });

/** Expected JSON values by path. Additional fields are allowed. */
const subsetSchema = z.union([dictionary(z.unknown()), z.array(z.unknown())]);

const ExpectedDelivery = z.strictObject({
  to: z.string().optional().describe("Name of the receiver"),
  activity: allowReference(z.enum(activities)).optional(),
  contract: z.string().optional().describe("T-1, or a saved value"),
  outcome: z.enum(deliveryOutcomes).optional(),
  attempts: z.int().min(0).optional().describe("Number of attempts so far"),
  responses: z
    .array(z.union([z.int(), z.string()]))
    .optional()
    .describe("Result of each attempt: a status or an error code"),
  minutes: z.array(z.int()).optional().describe("Virtual minutes from the first attempt to each"),
});

const expect = <Schema extends z.ZodType>(schema: Schema, description: string) =>
  schema.nullable().optional().describe(description);

export const Expectations = z.strictObject({
  status: expect(allowReference(z.int().min(100).max(599)), "HTTP status of the response"),
  failure: expect(z.string(), "Code of the failure: forbidden-move"),
  exit: expect(allowReference(z.int().min(0).max(255)), "Exit code of the command line"),
  json: expect(subsetSchema, "Fields of the result, by path: items.0.status"),
  text: expect(z.union([z.string(), z.array(z.string())]), "Parts of the command's output"),
  activities: expect(
    z.array(allowReference(z.enum(activities))),
    "Activities from the beginning in this order; others may come between them",
  ),
  deliveries: expect(
    z.array(ExpectedDelivery),
    "Webhook deliveries from the beginning in this order; others may come between them",
  ),
  webhooks: expect(
    dictionary(z.enum(["ACTIVE", "DISABLED_BY_USER", "DISABLED_BY_ERROR", "DELETED"]).nullable()),
    "Webhook status by name of the receiver",
  ),
});

const sharedStepFields = {
  title: z.string().optional().describe("Purpose of the step, shown in the output"),
  expect: Expectations.nullable().optional().describe("Expected result; null accepts any result"),
  save: z
    .union([nameSchema, createNamedMap(namePattern, nameMessage, z.string())])
    .optional()
    .describe("Saves the result, or its fields by path, for later steps"),
};

const defineStep = <Shape extends z.ZodRawShape>(description: string, shape: Shape) =>
  z.strictObject({ ...shape, ...sharedStepFields }).describe(description);

const inputSchema = dictionary(z.unknown());

const operationIdSchema = z.string().describe("ID of an operation: contracts.create");

const contractReferenceSchema = z.string().describe("T-1, or a saved value");

export const contractActions = ["sign", "decline", "approve"] as const;

/** Builds the fields of a fault. Each field can be a saved value, such as the ID of a webhook. */
function buildFaultFields(): Record<string, z.ZodType> {
  return Object.fromEntries(
    Object.entries(addFault.request.body.schema.shape).map(([field, schema]) => [
      field,
      field === "direction" ? schema : allowReference(schema as z.ZodType),
    ]),
  );
}

const receiverStatusSchema = z.int().min(200).max(599);

const ForEachStep = z
  .strictObject({
    "for each": createNamedMap(namePattern, nameMessage, z.union([z.array(z.unknown()).min(1), referenceSchema]))
      .refine((loop) => Object.keys(loop).length === 1, "must have one name with its list")
      .describe("A name and the list of its values"),
    get steps() {
      return z.array(ScenarioStep).min(1);
    },
    title: sharedStepFields.title,
  })
  .describe("Runs steps for each value of a list");

export const stepSchemas = {
  call: defineStep("Calls an operation", {
    call: operationIdSchema,
    params: inputSchema.optional().describe("Values of the path"),
    query: inputSchema.optional(),
    headers: dictionary(z.string()).optional(),
    body: z.unknown().optional(),
  }),
  svc: defineStep("Runs a command line", {
    svc: z
      .union([z.string().min(1), z.array(z.union([z.string(), z.number()])).min(1)])
      .describe("A command line, without svc"),
    stdin: z.string().optional(),
  }),
  advance: defineStep("Advances virtual time and runs due entries", {
    advance: advanceTargetSchema.describe("Target of the clock advance: PT2H35M, a time, next or idle"),
  }),
  as: z
    .strictObject({
      as: z.string().min(1).describe("E-mail address of the person; next selects the next signatory"),
      sign: contractReferenceSchema.optional(),
      decline: contractReferenceSchema.optional(),
      approve: contractReferenceSchema.optional(),
      note: z.string().optional().describe("Note of the person"),
      ...sharedStepFields,
    })
    .refine((step) => contractActions.filter((act) => step[act] !== undefined).length === 1, {
      message: "must have one of sign, decline and approve",
    })
    .describe("Signs, declines or approves a contract as a person"),
  fault: defineStep("Scripts a fault", {
    fault: z.strictObject(buildFaultFields()).describe("A fault of incoming requests or outgoing webhooks"),
  }),
  receiver: defineStep("Opens a webhook receiver", {
    receiver: nameSchema.describe("Name, for $name.url, $name.webhook, $name.last.body and $name.last.signature"),
    url: z.string().min(1).optional().describe("Address of your program (default: a built-in receiver)"),
    responses: z
      .union([receiverStatusSchema, z.literal("down"), z.array(receiverStatusSchema).min(1)])
      .optional()
      .describe("Response statuses of the built-in receiver, the last of which repeats; down refuses all connections"),
    subscribe: z
      .union([z.literal("all"), z.array(z.enum(activities)).min(1)])
      .optional()
      .describe("Activities of a webhook to create for the receiver"),
  }),
  "for each": ForEachStep,
  expect: z
    .strictObject({ expect: Expectations.describe("Expected state after the step"), title: sharedStepFields.title })
    .describe("Checks the state after the previous steps"),
} as const;

export type StepKind = keyof typeof stepSchemas;

export type StepOf<Kind extends StepKind> = z.output<(typeof stepSchemas)[Kind]>;

export const ScenarioStep: z.ZodType<z.output<(typeof stepSchemas)[Exclude<StepKind, "for each">]> | ForEachLoop> = z
  .lazy(() => z.union(Object.values(stepSchemas) as unknown as [z.ZodType<never>, z.ZodType<never>]))
  .meta({ id: "ScenarioStep" });

export interface ForEachLoop {
  readonly "for each": Readonly<Record<string, readonly unknown[] | string>>;
  readonly steps: readonly ScenarioStep[];
  readonly title?: string | undefined;
}

export type ScenarioStep = z.output<typeof ScenarioStep>;
export type Expectations = z.output<typeof Expectations>;

export const Scenario = z.strictObject({
  name: z.string().optional().describe("Subject of the scenario"),
  seed: z
    .union([z.string().min(1), dictionary(z.unknown())])
    .optional()
    .describe("Initial state: demo (default), empty, a file, or an inline seed"),
  start: z
    .string()
    .refine(isTime, "must be a time (2031-01-02T03:04:05Z)")
    .meta({ format: "date-time" })
    .optional()
    .describe("Initial virtual time (default: the time of the seed)"),
  files: createNamedMap(fileNamePattern, "must be the name of a file, without a folder", z.unknown())
    .optional()
    .describe("Files in the folder of command lines: text, JSON, or { base64: … }"),
  steps: z.array(ScenarioStep).min(1),
});

export type Scenario = z.output<typeof Scenario>;

/** Creates the JSON Schema of scenario files for editors, including operation IDs. */
export const createScenarioSchema = (): object => ({
  ...z.toJSONSchema(Scenario, {
    io: "input",
    unrepresentable: "any",
    override({ zodSchema, jsonSchema }) {
      if (zodSchema === operationIdSchema) jsonSchema.enum = registry.map(({ id }) => id).sort();
    },
  }),
  title: "Scenario",
  description: "A scenario that svc run runs on its own emulator",
});

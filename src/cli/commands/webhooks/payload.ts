import type { fireActivity } from "../../../api/emulator/activities.ts";
import type { ArgumentsOf } from "../../../api/operation.ts";
import { restoreExactNumbers, stringifyExact } from "../../../base/exact-json.ts";
import { isObject } from "../../../base/object.ts";
import { CheckedCall } from "../../../client/checked-call.ts";
import type { Client } from "../../../client/client.ts";
import { type ApiResponse, requireValidValue } from "../../../client/response.ts";
import type { FlagSpec } from "../../../derive/command-spec.ts";
import type { CommandInputOf, Context } from "../../command.ts";
import { canPrompt } from "../../context.ts";
import { UsageError } from "../../failure.ts";
import { escapeJson } from "../../output/control-characters.ts";
import { applyAssignments, parseAssignment, readDocument } from "../../parse/body.ts";

type Body = NonNullable<ArgumentsOf<typeof fireActivity>["body"]>;
type Document = Record<string, unknown>;

/** The contract that is told of. */
export const contractFlag = {
  flag: "contract",
  type: "text",
  placeholder: "ID",
  description: "Contract: 12 or T-12 (default: the newest, or a new one)",
} as const satisfies FlagSpec;

/** What is to differ in the payload of an activity. Whatever does not fit it is an error, and nobody is told. */
export const payloadFlags = [
  {
    flag: "set",
    type: "text",
    placeholder: "PATH=VALUE",
    repeatable: true,
    description: "Set a field of the payload: counterparties.0.poc_email=x@y.example",
  },
  {
    flag: "add",
    type: "text",
    placeholder: "PATH=VALUE",
    repeatable: true,
    description: "Add a field to the payload, or an item to a list",
  },
  {
    flag: "remove",
    type: "text",
    placeholder: "PATH",
    repeatable: true,
    description: "Remove a field from the payload",
  },
  {
    flag: "data",
    type: "text",
    placeholder: "FILE|-",
    description: "JSON document with more keys for activity_data",
  },
  {
    flag: "raw",
    type: "text",
    placeholder: "FILE|-",
    description: "Send this JSON document as the payload",
  },
  { flag: "edit", type: "switch", description: "Edit the payload in $VISUAL or $EDITOR before it is sent" },
] as const satisfies readonly FlagSpec[];

/** The changes that the flags ask for, as the control plane takes them. */
export async function payloadChanges(
  { flags }: CommandInputOf<readonly [typeof contractFlag, ...typeof payloadFlags]>,
  { host, globals }: Context,
): Promise<Omit<Body, "activity">> {
  if (flags.edit && !canPrompt(host, globals)) {
    throw new UsageError("--edit requires a terminal", { hint: "To change fields, use --set, --add and --remove." });
  }
  if (flags.data !== undefined && flags.raw !== undefined) {
    throw new UsageError("--data cannot be used with --raw");
  }
  const [data, payload] = [await objectOf(host, flags.data, "--data"), await objectOf(host, flags.raw, "--raw")];
  const changes = {
    contract_id: flags.contract,
    overrides: valuesOf(flags.set, "--set"),
    additions: valuesOf(flags.add, "--add"),
    removals: flags.remove?.map((path) => parseAssignment(`${path}=`, "--remove").path.join(".")),
    data,
    payload,
  };
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
}

function valuesOf(given: readonly string[] | undefined, flag: string): Document | undefined {
  if (given === undefined) return undefined;
  const assignments = given.map((text) => parseAssignment(text, flag));
  return Object.fromEntries(
    assignments.map((one) => [one.path.join("."), applyAssignments(undefined, [{ ...one, path: [] }])]),
  );
}

async function objectOf(host: Context["host"], file: string | undefined, flag: string): Promise<Document | undefined> {
  if (file === undefined) return undefined;
  const document = await readDocument(host, file, flag);
  if (isObject(document)) return document;
  throw new UsageError(`${flag} must be a JSON object`);
}

/** The same call with the payload as a person left it in an editor. */
export async function editPayload({ activity, ...changes }: Body, client: Client, context: Context): Promise<Body> {
  const [{ fireActivity }, { editText }] = await Promise.all([
    import("../../../api/emulator/activities.ts"),
    import("../../terminal/editor.ts"),
  ]);
  const { signal } = context;
  const call = CheckedCall.of(fireActivity, { body: { activity, ...changes, preview: true } });
  const preview = requireValidValue((await client.send(call, { signal, exactNumbers: true })) as ApiResponse<Preview>);
  const shown = escapeJson(stringifyExact(preview.payload, 2));
  const text = await editText(shown, `${activity}.json`, context, problemIn);
  return {
    activity,
    contract_id: preview.contract_id,
    ...(changes.webhook !== undefined && { webhook: changes.webhook }),
    payload: restoreExactNumbers(text, JSON.parse(text)) as Document,
    wait: true,
  };
}

interface Preview {
  readonly contract_id: number;
  readonly payload: Document;
}

function problemIn(text: string): string | undefined {
  try {
    return isObject(JSON.parse(text)) ? undefined : "This is not a JSON object.";
  } catch (error) {
    return `This is not JSON: ${(error as Error).message}.`;
  }
}

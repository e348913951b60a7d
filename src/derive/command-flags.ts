import type * as z from "zod";
import type { Operation } from "../api/operation.ts";
import { slugify } from "../base/text.ts";
import {
  createSwitch,
  createTextFlag,
  type FlagSpec,
  type Paging,
  type PositionalSpec,
  type ValueType,
} from "./command-spec.ts";
import { derivePaging, listScalarFields, type ScalarField, toInputSchema } from "./fields.ts";

/**
 * Names of global flags and of flags for a kind of request or response. A field with such a name gets a longer flag:
 * `--body-data`, `--query-file`.
 */
const reservedFlags: ReadonlySet<string> = new Set([
  ...["base-url", "emulator", "profile", "json", "fields", "format", "csv-safe", "wide", "color", "quiet", "verbose"],
  ...["debug", "timeout", "retries", "max-wait", "input", "yes", "confirm", "dry-run", "data", "set", "file"],
  ...["content-type", "output", "follow", "all", "help", "version"],
]);

/** Derives the flags of an operation's command from its fields and from its kinds of body and response. */
export function deriveFlags(operation: Operation): FlagSpec[] {
  const paging = derivePaging(operation);
  const { query, headers, body } = operation.request;
  const usedNames = new Set(reservedFlags);
  const createFlag = (where: "query" | "headers" | "body", field: ScalarField): FlagSpec => {
    const { name, isFree: _, isBase64, repeatable, required, ...shown } = field;
    // The command line renames the field, so that a concept has one name in all services.
    const kebab = name === "cluster_id" ? "cluster" : slugify(name);
    const flag = usedNames.has(kebab) ? `${where === "headers" ? "header" : where}-${kebab}` : kebab;
    usedNames.add(flag);
    return {
      flag,
      ...shown,
      ...(repeatable ? { repeatable } : {}),
      ...(isBase64 ? { isBase64, placeholder: "BASE64|@FILE" } : {}),
      ...(where === "body" && body?.kind === "jsonOrForm" && oauthSecrets.has(flag) ? { isSecret: true } : {}),
      ...(required ? { required } : {}),
      ...("operators" in operation.cli && name.startsWith("filter__") ? { takesOperator: true } : {}),
      target: { in: where, name },
    };
  };
  const createFieldFlags = (where: "query" | "headers" | "body", schema: z.ZodType | undefined) =>
    schema ? listScalarFields(toInputSchema(schema)).map((field) => createFlag(where, field)) : [];
  return [
    ...createFieldFlags("query", query),
    ...createFieldFlags("headers", headers),
    ...createFieldFlags("body", body && "schema" in body ? body.schema : undefined),
    ...(body?.kind === "jsonOrForm" ? deriveSecretFileFlags(usedNames) : []),
    ...deriveWholeBodyFlags(operation),
    ...(paging ? [createAllFlag(paging)] : []),
  ];
}

/** Secrets in token grants of OAuth (RFC 6749, 4.1.3 and 6; RFC 8628, 3.4). */
const oauthSecrets: ReadonlySet<string> = new Set(["client-secret", "refresh-token", "code", "device-code"]);

const deriveSecretFileFlags = (taken: ReadonlySet<string>): FlagSpec[] =>
  [...oauthSecrets]
    .filter((flag) => taken.has(flag))
    .map((flag) => createTextFlag(`${flag}-file`, "FILE|-", `File with the value of --${flag}`, { holds: flag }));

function deriveWholeBodyFlags({ service, request, responses, method, cli }: Operation): FlagSpec[] {
  const flags: FlagSpec[] = [];
  if (service.name === "emulator") flags.push(createTextFlag("file", "FILE", "State file of the running emulator"));
  const kind = request.body?.kind;
  if (kind === "json" || kind === "form" || kind === "jsonOrForm") {
    flags.push(
      createTextFlag("data", "FILE|-", "Read the whole body from a JSON file or standard input"),
      createTextFlag("set", "PATH=VALUE", describeSet(request), { repeatable: true }),
    );
  }
  if (kind === "raw" || kind === "stream") {
    flags.push(
      createTextFlag("file", "PATH|-", "File to send unchanged", kind === "stream" ? { required: true } : {}),
      createTextFlag("content-type", "TYPE", "Content type of the file"),
    );
  }
  const kinds = Object.values(responses).map((response) => response.kind);
  if (kinds.includes("html") || kinds.includes("bytes"))
    flags.push(createTextFlag("output", "FILE", "Write the response to this file", { short: "o" }));
  if (kinds.includes("events"))
    flags.push(createSwitch("follow", "Print each event as one line of JSON, until Ctrl-C"));
  if (method !== "GET") flags.push(createSwitch("dry-run", "Print the request without sending it", { short: "n" }));
  if ("command" in cli && cli.confirm === "name")
    flags.push(createTextFlag("confirm", "NAME", "Confirm the first argument"));
  return flags;
}

/** Names the fields that have no flag, because they are objects or lists of objects. */
function describeSet({ body }: Operation["request"]): string {
  const schema = body && "schema" in body ? toInputSchema(body.schema) : {};
  const { properties = {}, required = [] } = schema as { properties?: object; required?: string[] };
  const flagNames = new Set(listScalarFields(schema).map(({ name }) => name));
  const names = Object.keys(properties).filter((name) => !flagNames.has(name));
  const fields = names.map((name) => (required.includes(name) ? `${name} (required)` : name)).join(", ");
  return `Set one field of the body: address.city=Oslo${fields && `. Fields without an option: ${fields}`}`;
}

const createAllFlag = ({ by, maxPerPage }: Paging): FlagSpec =>
  createSwitch("all", by ? "Show all rows, page by page" : `Show the maximum number of rows (${maxPerPage})`);

/** Type of the parsed value (src/cli/parse/values.ts). */
type ValueOf<Type extends ValueType | "switch"> = Type extends "integer" | "number"
  ? number
  : Type extends "boolean" | "switch"
    ? boolean
    : string;

type OneOf<Spec> = Spec extends { readonly choices: readonly (infer Choice)[] }
  ? Choice
  : Spec extends { readonly type: infer Type extends ValueType | "switch" }
    ? ValueOf<Type>
    : string;

/** Part of a flag's declaration that determines its type. */
export type TypedFlag = Pick<FlagSpec, "flag" | "type" | "repeatable" | "optionalValue" | "choices">;

/** Values of declared flags, by name. Any value can be missing, because defaults only appear in help. */
export type FlagValues<Flags extends readonly TypedFlag[]> = {
  readonly [Spec in Flags[number] as Spec["flag"]]?: Spec extends { readonly repeatable: true }
    ? readonly OneOf<Spec>[]
    : Spec extends { readonly optionalValue: true }
      ? OneOf<Spec> | true
      : OneOf<Spec>;
};

/** Part of a positional's declaration that determines its type. */
export type TypedPositional = Pick<PositionalSpec, "name" | "type" | "optional" | "variadic" | "choices">;

/** Values of declared positionals, by name. A command does not run without its required positionals. */
export type PositionalValues<Positionals extends readonly TypedPositional[]> = {
  readonly [Spec in Positionals[number] as Spec["name"]]:
    | (Spec extends { readonly variadic: true } ? readonly OneOf<Spec>[] : OneOf<Spec>)
    | (Spec extends { readonly optional: true } ? undefined : never);
};

import type { Operation } from "../../../../api/operation.ts";
import { deleteWorkspaceData } from "../../../../api/router/clusters.ts";
import * as mappingOperations from "../../../../api/router/mapping-tables.ts";
import { lookupTable } from "../../../../base/object.ts";
import { pluralize } from "../../../../base/text.ts";
import type { CallArguments } from "../../../../client/checked-call.ts";
import { CommandFailedError } from "../../../process/failure.ts";
import { secretMask } from "../../../process/redact.ts";
import { createWordKind, type EmailHashing, getEmailKind, type IdentifierKind } from "./identifiers.ts";
import type { InputFormat } from "./input/format.ts";

/** Fields of a request in addition to the identifiers: the cluster, and others of the table. */
type RequestScope = Readonly<Record<string, string>>;

interface Reading {
  readonly hash: EmailHashing;
  readonly scope: RequestScope;
  readonly format?: InputFormat;
}

/** Kind of bulk job. It defines how a row becomes an identifier, and a batch of identifiers a request. */
export interface BulkJobKind {
  /** Command below `svc router`, such as `map-emails`. */
  readonly name: string;
  readonly action: "map" | "unmap" | "offboard";
  /** Name of one identifier, such as `e-mail`. */
  readonly noun: string;
  /** Part of the command line that names the rows. */
  readonly source: "<file>" | "--from";
  /** CSV columns or NDJSON fields that make up one row, joined by a space. Undefined for a single, selectable one. */
  readonly columns?: readonly string[];
  /** Name of the table in svc router resolve. Undefined if a job covers several tables. */
  readonly table?: string;
  readonly getKind: (reading: Reading) => IdentifierKind;
  readonly operation: Operation;
  readonly toArguments: (values: readonly string[], scope: RequestScope) => CallArguments;
  /** Returns the name of the list in the request that contains a value. */
  readonly getList: (value: string) => string;
}

/**
 * Describes a table of the router. `kind` is its name in the rows of an offboarding, and the plural that of its
 * commands, such as `map-emails`. `field` lists its identifiers in an offboarding, and `listField` in its own
 * operations.
 */
function createTable(kind: string, getKind: typeof getEmailKind, field: string, listField: string = field) {
  const plural = `${kind}s`;
  const table = ["email", "client"].includes(kind) ? `cluster_${plural}` : plural.replaceAll("-", "_");
  return { kind, plural, table, noun: getKind("sha256").noun, getKind, field, listField };
}

const createWords = (...kind: Parameters<typeof createWordKind>) => {
  const wordKind = createWordKind(...kind);
  return () => wordKind;
};
const hidden = { toShown: () => secretMask };
/** The emulator's tables and svc router resolve prefix an external ID with its type. */
const prefixed = { toValue: (text: string) => text.replace(/^CHAT_B:(?=.)/, "") };

const routingTables = [
  createTable("email", getEmailKind, "email_hash_list"),
  createTable("client", createWords("client ID"), "client_ids"),
  createTable("creator-token", createWords("creator invite token", hidden), "creator_tokens", "tokens"),
  createTable("counterparty-token", createWords("counterparty invite token", hidden), "cp_tokens", "tokens"),
  createTable("chat-a-team", createWords("team ID"), "chat_a_team_id_list"),
  createTable(
    "external-integration",
    createWords("external ID", prefixed),
    "external_integrations",
    "external_id_list",
  ),
  createTable("user-code", createWords("user code", hidden), "user_codes"),
];

/** Kind of job for one table. `plural` is the name of its identifiers in file names and commands. */
export interface MappingJobKind extends BulkJobKind {
  readonly plural: string;
  readonly listField: string;
}

/** The operations name their commands. User codes have none. */
const operations = new Map<string, Operation>(
  Object.values(mappingOperations).flatMap((value) =>
    "cli" in value && "by" in value.cli ? [[value.cli.by, value]] : [],
  ),
);

export const mappingJobKinds = routingTables.flatMap(({ plural, table, noun, getKind, listField }) =>
  (["map", "unmap"] as const).flatMap((action): MappingJobKind[] => {
    const name = `${action}-${plural}`;
    const operation = operations.get(`router ${name}`);
    if (!operation) return [];
    return [
      {
        ...{ name, action, noun, source: "<file>", table, operation, plural, listField },
        getKind: ({ hash }) => getKind(hash),
        toArguments: (values, scope) => ({ body: { [listField]: values, ...scope } }),
        getList: () => listField,
      },
    ];
  }),
);

/** Tables by the name of their kind in the rows of an offboarding. */
export const offboardKinds = lookupTable(Object.fromEntries(routingTables.map((table) => [table.kind, table])));
const byTable = lookupTable(Object.fromEntries(routingTables.map((table) => [table.table, table])));

/**
 * Parses `email ada@example.com`, or the table, key and cluster of a line from svc router resolve. Blanks separate the
 * words of a line. Two cells of a table are joined by one space, and other blanks belong to them.
 */
function parseRow(text: string, { hash, format = "lines" }: Reading) {
  const isLine = format === "lines";
  const [name = "", ...rest] = isLine ? text.trim().split(/\s+/) : text.split(" ");
  const tableKind = byTable[name];
  const offboardKind = offboardKinds[name] ?? tableKind;
  if (!offboardKind || rest.length === 0) return undefined;
  const cluster = isLine && tableKind && rest.length === 2 ? rest.pop() : undefined;
  return { field: offboardKind.field, kind: offboardKind.getKind(hash), identifier: rest.join(" "), cluster };
}

/** Returns the field of a value of an offboarding, which begins with it. */
const getField = (value: string): string => value.slice(0, value.indexOf(" "));

/** Rows of an offboarding have a kind and an identifier. Each batch is one request, and so one transaction. */
export const offboardJobKind: BulkJobKind = {
  name: "offboard",
  action: "offboard",
  noun: "identifier",
  source: "--from",
  columns: ["kind", "identifier"],
  operation: deleteWorkspaceData,
  getKind(reading) {
    return {
      noun: "identifier",
      findProblem(text) {
        const row = parseRow(text, reading);
        if (!row) return `not a kind and an identifier (kinds: ${Object.keys(offboardKinds).join(", ")})`;
        const { cluster, kind, identifier } = row;
        if (cluster !== undefined && cluster !== reading.scope.cluster_id) return `of another cluster: ${cluster}`;
        return kind.findProblem(identifier);
      },
      toValue(text) {
        const { field, kind, identifier } = parseRow(text, reading)!;
        return `${field} ${kind.toValue(identifier)}`;
      },
      toShown(text) {
        const [prefix = ""] = /^\S+\s+/.exec(text.trim()) ?? [];
        const row = parseRow(text, reading);
        return prefix + (row ? row.kind.toShown(row.identifier) : secretMask);
      },
    };
  },
  toArguments(values, { cluster_id, ...scope }) {
    const lists: Record<string, string[]> = Object.create(null);
    for (const value of values) {
      const field = getField(value);
      lists[field] ??= [];
      lists[field].push(value.slice(field.length + 1));
    }
    const { external_integrations: ids, ...otherLists } = lists;
    const integrations = ids && [{ external_id_list: ids, integration_type: scope.integration_type ?? "CHAT_B" }];
    return {
      params: { cluster_id },
      body: { ...otherLists, ...(integrations ? { external_integrations: integrations } : {}) },
    };
  },
  getList(value) {
    const field = getField(value);
    return field === "external_integrations" ? "external_id_list" : field;
  },
};

export const findBulkJobKind = (name: string): BulkJobKind | undefined =>
  [...mappingJobKinds, offboardJobKind].find((jobKind) => jobKind.name === name);

interface Outcome extends Pick<BulkJobKind, "action" | "noun"> {
  readonly cluster: string;
  readonly rows: number;
  /** Number of different identifiers. Null if it is unknown. */
  readonly distinct: number | null;
}

/** Describes confirmed requests. The service does not report the number of affected identifiers of a removal. */
export function formatOutcome({ action, noun, cluster, rows, distinct }: Outcome): string {
  const subject = distinct === null ? pluralize(rows, "row") : pluralize(distinct, noun);
  const repetitionNote =
    distinct !== null && distinct < rows ? ` (${pluralize(rows, "row")}, ${rows - distinct} of them repeated)` : "";
  return action === "map"
    ? `Mapped ${subject} to ${cluster}${repetitionNote}`
    : `Requested removal of ${subject} from ${cluster}${repetitionNote}; the service confirmed it`;
}

/** Fails if the response is not `true`, because the work is then not confirmed. */
export function requireConfirmed(response: unknown, { action, noun, cluster, rows }: Omit<Outcome, "distinct">): void {
  if (response === true) return;
  const question = action === "map" ? `map ${pluralize(rows, noun)} to` : `remove ${pluralize(rows, noun)} from`;
  const responseText = JSON.stringify(response)?.slice(0, 80) ?? "nothing";
  throw new CommandFailedError(
    "failed",
    "not_confirmed",
    `Failed to ${question} ${cluster}: the service responded with ${responseText}, not true.`,
    { hint: "The outcome is unknown. Check it before you retry." },
  );
}

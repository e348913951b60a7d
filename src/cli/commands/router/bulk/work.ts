import type { Operation } from "../../../../api/operation.ts";
import { deleteWorkspaceData } from "../../../../api/router/clusters.ts";
import {
  mapChatATeams,
  mapClusterClients,
  mapClusterEmails,
  mapCounterpartyTokens,
  mapCreatorTokens,
  mapExternalIntegrations,
  unmapChatATeams,
  unmapClusterClients,
  unmapClusterEmails,
  unmapCounterpartyTokens,
  unmapCreatorTokens,
  unmapExternalIntegrations,
} from "../../../../api/router/mapping-tables.ts";
import { lookupTable } from "../../../../base/object.ts";
import { pluralize } from "../../../../base/text.ts";
import type { CallArguments } from "../../../../client/checked-call.ts";
import { CommandFailedError } from "../../../process/failure.ts";
import { secretMask } from "../../../process/redact.ts";
import {
  createSecretWordKind,
  createWordKind,
  type EmailHashing,
  externalId,
  getEmailKind,
  type IdentifierKind,
} from "./input/identifiers.ts";

/** Fields of a request in addition to the identifiers: the cluster, and others of the table. */
export type RequestScope = Readonly<Record<string, string>>;

export interface IdentifierReadOptions {
  readonly hash: EmailHashing;
  readonly scope: RequestScope;
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
  readonly getKind: (reading: IdentifierReadOptions) => IdentifierKind;
  readonly operation: Operation;
  readonly toArguments: (values: readonly string[], scope: RequestScope) => CallArguments;
}

type KindGetter = (hash: EmailHashing) => IdentifierKind;

/** Table of the router. */
export type RoutingTable = ReturnType<typeof createTable>;

/**
 * Describes a table. `kind` is its name in the rows of an offboarding, and the plural that of its commands, such as
 * `map-emails`. `field` lists its identifiers in an offboarding, and `listField` in its own operations.
 */
function createTable(
  kind: string,
  identifierKind: IdentifierKind | KindGetter,
  field: string,
  listField: string = field,
  operations: readonly [map: Operation, unmap: Operation] | readonly [] = [],
) {
  const getKind = typeof identifierKind === "function" ? identifierKind : () => identifierKind;
  const name = `${kind}s`;
  const table = ["email", "client"].includes(kind) ? `cluster_${name}` : name.replaceAll("-", "_");
  return { kind, name, table, noun: getKind("sha256").noun, getKind, field, listField, operations };
}

const creatorToken = createSecretWordKind("creator invite token");
const counterpartyToken = createSecretWordKind("counterparty invite token");

const routingTables: readonly RoutingTable[] = [
  createTable("email", getEmailKind, "email_hash_list", undefined, [mapClusterEmails, unmapClusterEmails]),
  createTable("client", createWordKind("client id"), "client_ids", undefined, [mapClusterClients, unmapClusterClients]),
  createTable("creator-token", creatorToken, "creator_tokens", "tokens", [mapCreatorTokens, unmapCreatorTokens]),
  createTable("counterparty-token", counterpartyToken, "cp_tokens", "tokens", [
    mapCounterpartyTokens,
    unmapCounterpartyTokens,
  ]),
  createTable("chat-a-team", createWordKind("team id"), "chat_a_team_id_list", undefined, [
    mapChatATeams,
    unmapChatATeams,
  ]),
  createTable("external-integration", externalId, "external_integrations", "external_id_list", [
    mapExternalIntegrations,
    unmapExternalIntegrations,
  ]),
  createTable("user-code", createSecretWordKind("user code"), "user_codes"),
];

export const mappingTables = routingTables.filter(({ operations }) => operations.length > 0);

const mappingJobKinds = routingTables.flatMap(({ name, table, noun, getKind, listField, operations }) =>
  operations.map((operation, i): BulkJobKind => {
    const action = i === 0 ? "map" : "unmap";
    return {
      ...{ name: `${action}-${name}`, action, noun, source: "<file>", table, operation },
      getKind: ({ hash }) => getKind(hash),
      toArguments: (values, scope) => ({ body: { [listField]: values, ...scope } }),
    };
  }),
);

/** Tables by the name of their kind in the rows of an offboarding. */
export const offboardKinds = lookupTable(Object.fromEntries(routingTables.map((table) => [table.kind, table])));
const byTable = lookupTable(Object.fromEntries(routingTables.map((table) => [table.table, table])));

interface OffboardRow {
  readonly field: string;
  readonly kind: IdentifierKind;
  readonly identifier: string;
  readonly cluster: string | undefined;
}

/** Parses `email ada@example.com`, or the table, key and cluster of a row from svc router resolve. */
function parseRow(text: string, { hash }: IdentifierReadOptions): OffboardRow | undefined {
  const [name = "", ...rest] = text.split(/\s+/);
  const tableKind = byTable[name];
  const offboardKind = offboardKinds[name] ?? tableKind;
  if (!offboardKind || rest.length === 0) return undefined;
  const cluster = tableKind && rest.length === 2 ? rest.pop() : undefined;
  return { field: offboardKind.field, kind: offboardKind.getKind(hash), identifier: rest.join(" "), cluster };
}

/**
 * Work of an offboarding, whose rows have a kind and an identifier. Each batch is one request that removes all kinds in
 * one transaction.
 */
export const offboardJobKind: BulkJobKind = {
  name: "offboard",
  action: "offboard",
  noun: "identifier",
  source: "--from",
  columns: ["kind", "identifier"],
  operation: deleteWorkspaceData,
  getKind(reading) {
    const parse = (text: string) => parseRow(text, reading)!;
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
        const { field, kind, identifier } = parse(text);
        return `${field} ${kind.toValue(identifier)}`;
      },
      toKey(text) {
        const { field, kind, identifier } = parse(text);
        return `${field} ${kind.toKey(identifier)}`;
      },
      getForm(text) {
        const { kind, identifier } = parse(text);
        return kind.getForm?.(identifier);
      },
      toShown(text) {
        const [prefix = ""] = /^\S+\s+/.exec(text) ?? [];
        const row = parseRow(text, reading);
        return prefix + (row ? row.kind.toShown(row.identifier) : secretMask);
      },
    };
  },
  toArguments(values, { cluster_id, ...scope }) {
    const lists: Record<string, string[]> = Object.create(null);
    for (const value of values) {
      const space = value.indexOf(" ");
      const field = value.slice(0, space);
      lists[field] ??= [];
      lists[field].push(value.slice(space + 1));
    }
    const { external_integrations: ids, ...otherLists } = lists;
    const integrations = ids && [{ external_id_list: ids, integration_type: scope.integration_type ?? "CHAT_B" }];
    return {
      params: { cluster_id },
      body: { ...otherLists, ...(integrations ? { external_integrations: integrations } : {}) },
    };
  },
};

export const findBulkJobKind = (name: string): BulkJobKind | undefined =>
  [...mappingJobKinds, offboardJobKind].find((work) => work.name === name);

interface Outcome extends Pick<BulkJobKind, "action" | "noun"> {
  readonly cluster: string;
  readonly rows: number;
  readonly distinct?: number | undefined;
}

/** Describes confirmed requests. The service does not report the number of affected identifiers of a removal. */
export function formatOutcome({ action, noun, cluster, rows, distinct = rows }: Outcome): string {
  const subject = pluralize(distinct, noun);
  const repetitionNote = distinct < rows ? ` (${pluralize(rows, "row")}, ${rows - distinct} of them repeated)` : "";
  return action === "map"
    ? `Mapped ${subject} to ${cluster}${repetitionNote}`
    : `Requested removal of ${subject} from ${cluster}${repetitionNote}; the service confirmed it`;
}

/** Fails if the response is not `true`, because the work is then not confirmed. */
export function requireConfirmed(response: unknown, { action, noun, cluster, rows }: Outcome): void {
  if (response === true) return;
  const question = action === "map" ? `map ${pluralize(rows, noun)} to` : `remove ${pluralize(rows, noun)} from`;
  const responseText = JSON.stringify(response)?.slice(0, 80) ?? "nothing";
  throw new CommandFailedError(
    "failed",
    "not_confirmed",
    `Failed to ${question} ${cluster}: the service responded with ${responseText}, not true.`,
    {
      hint: "The outcome is unknown. Check it before you retry.",
    },
  );
}

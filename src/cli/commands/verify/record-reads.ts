import { isObject, lookupTable, toFields } from "../../../base/object.ts";
import type { RecordCaller } from "./record-caller.ts";

const listRows = (document: unknown): readonly Record<string, unknown>[] => {
  const found = Array.isArray(document) ? document : Object.values(toFields(document)).find(Array.isArray);
  return Array.isArray(found) ? found.filter(isObject) : [];
};

/** Lists that every holder of a key may read. */
const lists = [
  "templates.list",
  "contract-types.list",
  "users.list",
  "users.roles",
  "organizations.types",
  "organizations.entities",
  "contracts.list",
  "counterparties.list",
  "intake.list",
  "clusters.list",
  "health.show",
  "oidc.discovery",
  "oidc.jwks",
] as const;

/** Reads of the first items of a list, by ID parameter. */
const details: readonly (readonly [
  list: (typeof lists)[number],
  id: string,
  parameter: string,
  operations: readonly string[],
])[] = [
  ["templates.list", "id", "template_id", ["templates.show", "templates.metadata"]],
  ["contract-types.list", "id", "contract_type_id", ["contract-types.entities", "contract-types.intake-form"]],
  [
    "contracts.list",
    "id",
    "composite_id",
    ["contracts.status", "contracts.recipients", "contract-details.notes", "key-pointers.list", "approvals.list"],
  ],
  [
    "counterparties.list",
    "id",
    "counter_party_id",
    ["counterparties.show", "counterparty-contacts.list", "counterparty-addresses.list"],
  ],
  ["intake.list", "id", "intake_id", ["intake.show"]],
];
const detailed = 3;

const unknown = lookupTable<string | number>({
  composite_id: "T-999999999",
  contract_id: 999_999_999,
  template_id: 999_999_999,
  contract_type_id: 999_999_999,
  counter_party_id: 999_999_999,
  intake_id: 999_999_999,
  file_id: "00000000-0000-4000-8000-000000000000",
  email_hash: "0".repeat(64),
  client_id: "unknown-client",
});

const probedOperations: readonly (readonly [operation: string, parameter: string])[] = [
  ["contracts.status", "composite_id"],
  ["contracts.recipients", "composite_id"],
  ["contract-details.notes", "composite_id"],
  ["comments.list", "contract_id"],
  ["templates.show", "template_id"],
  ["contract-types.entities", "contract_type_id"],
  ["counterparties.show", "counter_party_id"],
  ["intake.show", "intake_id"],
  ["files.show", "file_id"],
  ["cluster-emails.show", "email_hash"],
  ["cluster-clients.show", "client_id"],
];

export const readsPlan: readonly string[] = [
  `List ${lists.length} kinds of objects, and show the first ${detailed} of each`,
  `Look up ${probedOperations.length} IDs that do not exist`,
  "Send a wrong method, a wrong type and one wrong secret",
];

/** Calls that change nothing. */
export async function recordReads(caller: RecordCaller): Promise<void> {
  const found = new Map<string, unknown>();
  for (const list of lists) if (caller.canCall(list)) found.set(list, await caller.call(list));
  for (const [list, id, parameter, operations] of details) {
    for (const row of listRows(found.get(list)).slice(0, detailed)) {
      const value = row[id];
      if (typeof value !== "string" && typeof value !== "number") continue;
      for (const operation of operations)
        if (caller.canCall(operation)) await caller.call(operation, { params: { [parameter]: value } });
    }
  }
  for (const [operation, parameter] of probedOperations)
    if (caller.canCall(operation)) await caller.call(operation, { params: { [parameter]: unknown[parameter]! } });
  if (!caller.canCall("templates.list")) return;
  await caller.call("templates.list", { method: "PUT" });
  await caller.call("contracts.list", { query: { page: "first" } });
  // Only once, because services lock keys after too many failures.
  await caller.call("templates.list", { headers: { "client-secret": "wrong" } });
}

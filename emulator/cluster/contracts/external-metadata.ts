import type { Fail } from "../../../src/api/failures.ts";
import { inTransaction } from "../../http/handler.ts";
import type { ClusterHandlers } from "../context.ts";
import { emitContractEvent, toCreatedContract, toPerformer } from "./records.ts";
import { type Contract, contracts, requireContract, storeContractChange, toWorkspaceKey } from "./rows.ts";

/** Handlers for the keys of a contract in external systems (DECISIONS.md, C13 and F14). */
export const externalMetadataHandlers = {
  "external-metadata.put": inTransaction((tx, { params, body }, { clock, caller, fail }) => {
    const row = requireContract(tx, caller, params.contract_id, fail);
    requireKnownConfiguration(body.external_metadata, fail);
    const external_metadata = { ...row.external_metadata, ...body.external_metadata };
    if (isEmpty(body.external_metadata)) return { external_metadata };
    const at = clock.now();
    const after = storeContractChange(tx, row, at, { external_metadata });
    const activity = `CONTRACT_EXTERNAL_METADATA_${row.external_metadata ? "UPDATED" : "CREATED"}` as const;
    emitContractEvent(tx, { clock, performer: toPerformer(caller), at }, activity, after);
    return { external_metadata };
  }),

  "external-metadata.show": ({ params }, { store, caller, fail }) => {
    const row = requireContract(store, caller, params.contract_id, fail);
    return { external_metadata: row.external_metadata ?? {} };
  },

  "external-metadata.find": ({ params }, { store, cluster, caller }) => {
    const equals = toWorkspaceKey(caller.workspace.id, params.external_metadata_id);
    const rows = store.list(contracts, { by: "external", equals, reverse: true, limit: maxFoundContracts });
    return rows.map((row) => toCreatedContract(store, { cluster }, row));
  },
} satisfies ClusterHandlers;

/** DECISIONS.md, F6 */
const maxFoundContracts = 50;

type ExternalMetadata = NonNullable<Contract["external_metadata"]>;

/** Metadata without keys changes nothing and emits nothing (DECISIONS.md, C13). */
const isEmpty = (metadata: ExternalMetadata): boolean => Object.keys(metadata).length === 0;

export const normalizeMetadata = (metadata: ExternalMetadata | null | undefined): ExternalMetadata | null =>
  metadata == null || isEmpty(metadata) ? null : metadata;

/** Rejects every name, because emulated workspaces have no object configurations (DECISIONS.md, F5). */
export function requireKnownConfiguration(
  metadata: ExternalMetadata | null | undefined,
  fail: Fail<"unknown-object-configuration">,
): void {
  if (metadata?.object_configuration_id !== undefined) fail("unknown-object-configuration");
}

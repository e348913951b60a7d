import type { Fail } from "../../../src/api/failures.ts";
import { emit } from "../../webhooks/emit.ts";
import type { ClusterHandlers } from "../world.ts";
import { changed } from "./creation/new-contract.ts";
import { contractFacts } from "./facts.ts";
import { performer } from "./performer.ts";
import { createdContract } from "./records.ts";
import { contracts, type ExternalMetadata, inWorkspace, requireContract } from "./rows.ts";

/** DECISIONS.md, F6 */
const foundAtMost = 50;

/** Keys of the contract in systems that are not ours (DECISIONS.md, C13 and F14). */
export const externalMetadataHandlers = {
  "external-metadata.put": ({ params, body }, { store, clock, caller, fail }) =>
    store.transaction("external-metadata.put", async (tx) => {
      const row = await requireContract(tx, caller, params.contract_id, fail);
      requireKnownConfiguration(body.external_metadata, fail);
      const external_metadata = { ...row.external_metadata, ...body.external_metadata };
      if (isEmpty(body.external_metadata)) return { external_metadata };
      const at = clock.now();
      const after = changed(tx, row, at, { external_metadata });
      await emit(tx, clock, {
        workspace_id: after.workspace_id,
        activity: row.external_metadata ? "CONTRACT_EXTERNAL_METADATA_UPDATED" : "CONTRACT_EXTERNAL_METADATA_CREATED",
        at,
        performed_by: performer(caller),
        contract: await contractFacts(tx, after),
      });
      return { external_metadata };
    }),

  "external-metadata.show": ({ params }, { store, caller, fail }) =>
    store.read(async (view) => {
      const row = await requireContract(view, caller, params.contract_id, fail);
      return { external_metadata: row.external_metadata ?? {} };
    }),

  "external-metadata.find": ({ params }, { store, cluster, caller }) =>
    store.read(async (view) => {
      const equals = inWorkspace(caller.workspace.id, params.external_metadata_id);
      const found = await view.list(contracts, { by: "external", equals, reverse: true, limit: foundAtMost });
      return Promise.all(found.map((row) => createdContract(view, { cluster }, row)));
    }),
} satisfies ClusterHandlers;

/** Metadata without a key is none: nothing is written by it, and nothing told (DECISIONS.md, C13). */
const isEmpty = (metadata: ExternalMetadata): boolean => Object.keys(metadata).length === 0;

/** What a new contract keeps of the metadata that came with it. */
export const keptMetadata = (metadata: ExternalMetadata | null | undefined): ExternalMetadata | null =>
  metadata == null || isEmpty(metadata) ? null : metadata;

/** No emulated workspace has object configurations, so whatever is named is unknown (DECISIONS.md, F5). */
export function requireKnownConfiguration(
  metadata: ExternalMetadata | null | undefined,
  fail: Fail<"unknown-object-configuration">,
): void {
  if (metadata?.object_configuration_id !== undefined) fail("unknown-object-configuration");
}

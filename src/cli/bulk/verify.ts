import type { Context } from "../command.ts";
import type { Batch } from "./input/batches.ts";
import type { JobRecord } from "./log/jobs.ts";
import { createLookup, requireLookup } from "./lookup.ts";
import type { RejectedRange } from "./send.ts";
import type { BulkWork } from "./work.ts";

/** Looks up where identifiers are before they are mapped; undefined where nobody asks for it, or nobody knows. */
export async function createMoveLookup({ results, scope }: JobRecord, work: BulkWork, context: Context) {
  if (work.action !== "map" || results !== "all") return undefined;
  const lookup = await createLookup(work, context);
  return (
    lookup && {
      /** The clusters that will lose identifiers of a batch, by the place of the first row that names each. */
      async before(batch: Batch): Promise<ReadonlyMap<number, string>> {
        const values = batch.values();
        const clusters = await lookup.clustersOf(values);
        const seen = new Set<string>();
        const found = new Map<number, string>();
        for (const [place, value] of values.entries()) {
          const cluster = clusters.get(value);
          if (seen.has(value) || typeof cluster !== "string" || cluster === scope.cluster_id) continue;
          seen.add(value);
          found.set(place, cluster);
        }
        return found;
      },
    }
  );
}

/** Looks up whether identifiers are where the service has confirmed them to be. */
export async function createVerification({ scope }: JobRecord, work: BulkWork, context: Context) {
  const lookup = await requireLookup(work, context);
  const target = scope.cluster_id!;
  return {
    /** What was found for rows that are not as they should be, by their place; and how many cannot be looked up. */
    async lookUp(batch: Batch, refused: readonly RejectedRange[]) {
      const values = batch.values();
      const clusters = await lookup.clustersOf(values);
      const contradicted = new Map<number, string>();
      let unverified = 0;
      for (const [place, value] of values.entries()) {
        if (refused.some(({ from, to }) => place >= from && place < to)) continue;
        const cluster = clusters.get(value);
        if (cluster === undefined) unverified += 1;
        else if ((cluster === target) !== (work.action === "map")) {
          const where = cluster === null ? "not mapped" : `mapped to ${cluster}`;
          contradicted.set(place, `${where} when looked up`);
        }
      }
      return { contradicted, unverified };
    },
  };
}

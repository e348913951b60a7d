import type { Cluster } from "../../world/clusters.ts";
import { identifiersOf } from "../resolve/identifiers.ts";
import { ownersOf } from "../resolve/resolve.ts";
import type { RouterCall } from "../world.ts";

/** The owner of what a CRM names in a target's query; what names no owner belongs to the first (DECISIONS.md, R28, R29). */
export async function crmOwner(call: Pick<RouterCall, "store" | "clusters">, target: string): Promise<Cluster> {
  const [owner] = await ownersOf(call, identifiersOf({ target, headers: {}, body: Buffer.alloc(0) }));
  return owner ?? call.clusters[0]!;
}

import * as z from "zod";
import { rows } from "../../store/port.ts";

/** A contract signatory, and a cluster that one of the contracts lives on (DECISIONS.md, R33). */
export const SignatoryMapping = z.strictObject({
  id: z.int(),
  uuid: z.string().nullable(),
  cluster: z.string(),
  signatory_hash: z.string(),
});
export type SignatoryMapping = z.infer<typeof SignatoryMapping>;

export const signatories = rows<SignatoryMapping, "hash", string>({
  name: "signatories",
  schema: SignatoryMapping,
  // The same hash and cluster again is the same row. A line break cannot stand in a cluster id.
  key: (row) => signatoryKey(row.cluster, row.signatory_hash),
  indexes: { hash: (row) => row.signatory_hash },
});

export const signatoryKey = (cluster: string, hash: string): string => `${cluster}\n${hash}`;

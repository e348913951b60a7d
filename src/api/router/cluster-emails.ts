import * as z from "zod";
import { expectedEmailHash } from "../expectation.ts";
import { operation } from "../operation.ts";
import { clusterId, emailHashes, lookup, lookupFailures, mapping, unmapping } from "./mapping-table.ts";

const emailHash = expectedEmailHash.describe("SHA-256 of the trimmed, lower-cased address, in lower-case hex");

export const ClusterEmailDomain = z.strictObject({ email_hash: z.string(), cluster_id: z.string() });

export const BulkClusterEmailRequest = z.object({
  email_hash_list: emailHashes,
  cluster_id: clusterId,
});

const example = {
  email_hash_list: ["dba86479afbaf94f50b6b6a093bdf29e40656e11874321bfca1718252afe1a0f"],
  cluster_id: "eu-1",
};

export const showClusterEmail = operation({
  ...lookup(ClusterEmailDomain),
  id: "cluster-emails.show",
  summary: "Look up the cluster of an e-mail hash",
  path: "/router/v1/cluster_emails/email/{email_hash}",
  request: { params: z.object({ email_hash: emailHash }) },
  failures: [...lookupFailures, "no-email-mapping"],
  cli: { command: "router show-email" },
  examples: [{ title: "Find the cluster of an address", params: { email_hash: example.email_hash_list[0] as string } }],
});

export const mapClusterEmails = operation({
  ...mapping(BulkClusterEmailRequest),
  id: "cluster-emails.map",
  summary: "Map e-mail hashes to a cluster",
  path: "/router/v1/cluster_emails/bulk",
  cli: { by: "router map-emails" },
  examples: [{ title: "Map one address to eu-1", body: example }],
});

export const unmapClusterEmails = operation({
  ...unmapping(BulkClusterEmailRequest),
  id: "cluster-emails.unmap",
  summary: "Remove e-mail hashes of a cluster",
  path: "/router/v1/cluster_emails/bulk",
  cli: { by: "router unmap-emails" },
  examples: [{ title: "Unmap one address of eu-1", body: example }],
});

import { openCrmB, verifyCrmA } from "../../../src/schemes/connected-apps.ts";
import { readConnectedApps, resolveFrontEnd } from "../../domain/apps.ts";
import type { Cluster } from "../../domain/clusters.ts";
import { findString } from "../../http/bodies/fields.ts";
import type { Passthrough } from "../../http/reply.ts";
import { type RouterCall, type RouterHandlers, type SingleClusterCall, verifyFreshSignature } from "../context.ts";
import { forwardToOne } from "../proxied/forward.ts";
import { findIdentifiers, findOwners } from "../resolve.ts";

type SignedCall = SingleClusterCall & RouterCall<"bad-crm-a-signature">;

/** Verifies the signature over the full public URL (DECISIONS.md, R29). */
function verifySignature(call: SignedCall): void {
  const { crm_a } = readConnectedApps(call.store);
  const { headers, method, target, body } = call.request;
  const { publicUrl } = call.settings;
  const signedRequest = {
    clientSecret: crm_a.client_secret,
    method,
    url: publicUrl + target,
    body,
    version: headers["x-crm-a-signature-version"] || undefined,
    timestamp: headers["x-crm-a-signature-timestamp"] || undefined,
    signature: headers["x-crm-a-signature"],
  };
  const verdict = verifyFreshSignature(call, (nowMs) => verifyCrmA({ ...signedRequest, nowMs }));
  if (!verdict.ok) {
    // A client that signs http://localhost instead of http://127.0.0.1 could not find its mistake otherwise.
    const detail =
      verdict.reason === "mismatch"
        ? `mismatch: the URL in a v2 or v3 signature must begin with ${publicUrl}`
        : verdict.reason;
    call.finding("crm-a-signature-refused", detail);
    call.fail("bad-crm-a-signature");
  } else if (verdict.version === "v1") {
    if (call.settings.strict.has("signatures")) call.fail("bad-crm-a-signature");
    call.finding("crm-a-signature-v1", "version 1 of a GET signs only the secret");
  }
}

export const crmHandlers = {
  "crm-a.iframe": (_, call) => verifyAndForward(call),
  "crm-a.cards": (_, call) => verifyAndForward(call),
  "crm-b.open": async ({ body, query }, call) => {
    const { crm_b } = readConnectedApps(call.store);
    const verdict = openCrmB(crm_b.consumer_secret, body.signed_request);
    if (!verdict.ok) {
      call.finding("signed-request-refused", verdict.reason);
      return call.fail("bad-signed-request");
    }
    requireAllowedIndexUrl(call, query.index_url_override);
    return forwardToOne(call, findCrmOwner(call, buildContextQuery(verdict.envelope.context)));
  },

  "crm-b.canvas": async ({ query }, call) => {
    requireAllowedIndexUrl(call, query.index_url_override);
    return forwardToOne(call, findCrmOwner(call, call.request.parsedTarget.search));
  },
} satisfies RouterHandlers;

/** Verifies and forwards a request that has its credentials and payload in the query. */
async function verifyAndForward(call: SignedCall): Promise<Passthrough> {
  verifySignature(call);
  return forwardToOne(call, findCrmOwner(call, call.request.parsedTarget.search));
}

type CanvasCall = SingleClusterCall & RouterCall<"index-url-not-allowed">;

/** The page loads the front end, and the router itself never requests it (DECISIONS.md, R28). */
function requireAllowedIndexUrl(call: CanvasCall, indexUrl: string | null | undefined): void {
  const { crm_b } = readConnectedApps(call.store);
  if (resolveFrontEnd(crm_b, indexUrl) === "refused") call.fail("index-url-not-allowed");
}

/** Names the identifiers of a signed request, so that they select a cluster as usual (DECISIONS.md, R14). */
function buildContextQuery(context: unknown): string {
  const query = new URLSearchParams();
  const email = findString(context, "user", "email");
  const organization = findString(context, "organization", "organizationId");
  if (email !== undefined) query.set("email", email);
  if (organization !== undefined) query.set("external_id", organization);
  return String(query);
}

/** An object without an owner belongs to the first cluster (DECISIONS.md, R28, R29). */
function findCrmOwner(call: Pick<RouterCall, "store" | "clusters" | "settings">, search: string): Cluster {
  const request = { parsedTarget: { search }, headers: {}, body: Buffer.alloc(0) };
  const [owner] = findOwners(call, findIdentifiers(request, call.settings.publicUrl));
  return owner ?? call.clusters[0]!;
}

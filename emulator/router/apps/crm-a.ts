import { verifyCrmA } from "../../../src/schemes/crm-a.ts";
import { originForm } from "../../http/path.ts";
import { reply } from "../../http/reply.ts";
import { appsOf } from "../../world/apps.ts";
import type { Cluster } from "../../world/clusters.ts";
import { identifiersOf } from "../resolve/identifiers.ts";
import { queryOf } from "../resolve/request-fields.ts";
import { ownersOf } from "../resolve/resolve.ts";
import type { RouterCall, RouterHandler, RouterHandlers } from "../world.ts";
import { appPage, listOf } from "./app-page.ts";
import { freshBy } from "./fresh-by.ts";

type SignedCall = RouterCall<"bad-crm-a-signature">;

/** Checks the signature over the full public URL (DECISIONS.md, R29). */
async function verify(call: SignedCall): Promise<void> {
  const { crm_a } = await call.store.read(appsOf);
  const { headers, method, target, body } = call.request;
  const signed = {
    clientSecret: crm_a.client_secret,
    method,
    url: publicUrlOf(call.settings.publicUrl, target),
    body,
    version: headers["x-crm-a-signature-version"] || undefined,
    timestamp: headers["x-crm-a-signature-timestamp"] || undefined,
    signature: headers["x-crm-a-signature"],
  };
  const verdict = freshBy(call, (nowMs) => verifyCrmA({ ...signed, nowMs }));
  if (!verdict.ok) {
    call.finding("crm-a-signature-refused", verdict.reason);
    call.fail("bad-crm-a-signature");
  } else if (verdict.version === "v1") {
    if (call.settings.strict.has("signatures")) call.fail("bad-crm-a-signature");
    call.finding("crm-a-signature-v1", "version 1 of a GET signs nothing but the secret");
  }
}

/** The target as sent, behind the name by which callers know the router. */
const publicUrlOf = (publicUrl: string, target: string): string => publicUrl + (originForm(target) ?? target);

/** Credentials and payload come in the query; what names no owner belongs to the first cluster. */
async function clusterOf(call: RouterCall): Promise<Cluster> {
  const { target } = call.request;
  const owners = await ownersOf(call, identifiersOf({ target, headers: {}, body: Buffer.alloc(0) }));
  return owners[0] ?? call.clusters[0]!;
}

const openIframe: RouterHandler<"crm-a.iframe"> = async ({ query: { contract_id: contract } }, call) => {
  await verify(call);
  const cluster = await clusterOf(call);
  if (contract) return reply(302, `${cluster.url}/contracts/${encodeURIComponent(contract)}`);
  const { portal, objectType, objectId } = recordOf(call);
  const context = { cluster_id: cluster.id, portal_id: portal, object_type: objectType, object_id: objectId };
  return appPage({ title: "Contracts in crm_a", content: listOf(context), context });
};

const listCards: RouterHandler<"crm-a.cards"> = async (_, call) => {
  await verify(call);
  const cluster = await clusterOf(call);
  const { objectId = "" } = recordOf(call);
  const open = {
    type: "IFRAME",
    width: 890,
    height: 748,
    uri: publicUrlOf(call.settings.publicUrl, `/router/v1/crm_a/iframe?cluster_id=${encodeURIComponent(cluster.id)}`),
    label: "Open contracts",
  };
  const record = Number(objectId);
  return {
    results: [
      {
        objectId: /^\d+$/.test(objectId) && Number.isSafeInteger(record) ? record : 1,
        title: "Contracts",
        link: `${cluster.url}/contracts`,
        properties: [{ label: "Cluster", dataType: "STRING", value: cluster.label }],
        actions: [open],
      },
    ],
    primaryAction: open,
  };
};

/** The record beside which crm_a shows the app, as its query names it. */
function recordOf({ request }: Pick<RouterCall, "request">) {
  const query = new URLSearchParams(queryOf(request.target));
  const named = (name: string) => query.get(name) || undefined;
  return {
    portal: named("portalId"),
    objectType: named("associatedObjectType"),
    objectId: named("associatedObjectId"),
  };
}

export const crmAHandlers = {
  "crm-a.iframe": openIframe,
  "crm-a.cards": listCards,
} satisfies RouterHandlers;

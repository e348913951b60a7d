import { jsonObject, textAt } from "../../http/bodies/fields.ts";
import { appsOf } from "../../world/apps.ts";
import { type IssuerKey, publicChatBKeys } from "../../world/chat-b-issuer.ts";
import { forwardToOne } from "../proxied/forward.ts";
import type { Identifier } from "../resolve/identifiers.ts";
import { ownersOf } from "../resolve/resolve.ts";
import type { RouterHandler, RouterHandlers, RouterWorld } from "../world.ts";
import { verifyChatBToken } from "./chat-b-token.ts";

/** The token is checked before anything of the body is believed (DECISIONS.md, R22). */
const receiveActivity: RouterHandler<"chat-b.messaging"> = async (_, call) => {
  const { chat_b: app } = await call.store.read(appsOf);
  const activity = jsonObject(call.request.body);
  const verdict = await verifyChatBToken({
    authorization: call.request.headers.authorization,
    activity,
    app,
    nowMs: call.wall.now(),
    keyOf: (kid) => publishedKey(call, app.openid_metadata_url, kid),
  });
  if (!verdict.ok) {
    call.finding("chat-b-token-refused", verdict.reason);
    return call.fail("bad-chat-b-token");
  }
  if (!activity) return call.fail("not-an-activity");
  const [owner] = await ownersOf(call, tenantsOf(activity));
  return owner ? forwardToOne(call, owner) : call.fail("no-chat-b-mapping");
};

/** A key of the issuer that the seed names, or of the emulator's own. */
async function publishedKey(
  { store, issuerKeys }: Pick<RouterWorld, "store" | "issuerKeys">,
  metadataUrl: string | null,
  kid: string,
): Promise<IssuerKey | undefined> {
  if (metadataUrl !== null) return issuerKeys.find(metadataUrl, kid);
  return (await store.read(publicChatBKeys)).find((key) => key.kid === kid);
}

/** Where an activity names its tenant, in the order that decides. */
function tenantsOf(activity: Readonly<Record<string, unknown>>): Identifier[] {
  const named = [textAt(activity, "channelData", "tenant", "id"), textAt(activity, "conversation", "tenantId")];
  return named.flatMap((id) => (id === undefined ? [] : [{ table: "external_integrations", key: `CHAT_B:${id}` }]));
}

export const chatBHandlers = {
  "chat-b.messaging": receiveActivity,
} satisfies RouterHandlers;

import { exchangeToken, showDiscovery, showJwks, showUserinfo } from "../../../src/api/router/oidc.ts";
import type { AllowsOrigin } from "../../http/sending/cors.ts";
import { oauthClients } from "../../world/oauth-clients.ts";
import type { RouterWorld } from "../world.ts";
import { isServerMetadata } from "./discovery.ts";

const paths: ReadonlySet<string> = new Set(
  [showDiscovery, showJwks, exchangeToken, showUserinfo].map(({ path }) => path),
);

/** An OAuth client that runs in a browser lives at the origin of a redirect URI that it registered (DECISIONS.md, R35). */
export const allowsBrowserApp =
  ({ store, settings }: Pick<RouterWorld, "store" | "settings">): AllowsOrigin =>
  (path, origin) =>
    paths.has(path) || isServerMetadata(path, settings.publicUrl)
      ? store.read(async (view) => (await view.count(oauthClients, { by: "origin", equals: origin })) > 0)
      : undefined;

import { signingKeys } from "../cluster/identity/signing-keys.ts";
import type { View } from "../store/port.ts";
import { appsOf } from "../world/apps.ts";
import { clusterRows } from "../world/clusters.ts";
import { workspaces } from "../world/workspaces.ts";
import type { Seed } from "./state/seed.ts";

/**
 * A seed with the keys and secrets that the present state made up for it. A reset begins with it, because programs
 * were handed those keys when the emulator started, and go on after the reset.
 */
export async function withKeptKeys(view: View, seed: Seed): Promise<Seed> {
  const clusters = new Map((await view.list(clusterRows)).map((row) => [row.id, row]));
  const known = new Map((await view.list(workspaces)).map((row) => [row.id, row]));
  const apps = await appsOf(view);
  const seeded = new Set(seed.signing_keys.map((row) => row.cluster_id));
  return {
    ...seed,
    clusters: seed.clusters.map((cluster) => ({ key: clusters.get(cluster.id)?.key, ...cluster })),
    workspaces: seed.workspaces.map((workspace) => {
      const { client_id, client_secret, hmac_key } = known.get(workspace.id) ?? {};
      return { client_id, client_secret, hmac_key, ...workspace };
    }),
    signing_keys: [
      ...seed.signing_keys,
      ...(await view.list(signingKeys)).filter((row) => clusters.has(row.cluster_id) && !seeded.has(row.cluster_id)),
    ],
    apps: {
      ...seed.apps,
      chat_b: { app_id: apps.chat_b.app_id, ...seed.apps.chat_b },
      crm_a: { client_secret: apps.crm_a.client_secret, ...seed.apps.crm_a },
      crm_b: { consumer_secret: apps.crm_b.consumer_secret, ...seed.apps.crm_b },
      billing: { password: apps.billing.password, ...seed.apps.billing },
      captcha: { captcha_token: apps.captcha.captcha_token, ...seed.apps.captcha },
    },
  };
}

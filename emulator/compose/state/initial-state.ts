import { type Clock, isoSeconds, type WallClock } from "../../../src/base/clock.ts";
import { clockState, type VirtualClock } from "../../clock/virtual-clock.ts";
import { accessTokenLifetimeSeconds } from "../../cluster/identity/grants.ts";
import { signingKeys } from "../../cluster/identity/signing-keys.ts";
import type { Store, Transaction, View } from "../../store/port.ts";
import { readApps } from "../../world/apps.ts";
import { clusterRows } from "../../world/clusters.ts";
import type { RenewableIds } from "../../world/renewable-ids.ts";
import type { Settings } from "../../world/settings.ts";
import { workspaces } from "../../world/workspaces.ts";
import { applySeed, type Seed } from "./seed.ts";

interface Beginning {
  readonly store: Store;
  readonly seed: Seed;
  readonly ids: RenewableIds;
  readonly settings: Pick<Settings, "deterministic">;
  readonly clock: VirtualClock;
  /** Virtual milliseconds at which the new state begins. */
  readonly at: number;
}

/** What writes the seed into an emptied state, with the keys and secrets that were handed out at the start. */
export async function createSeedWriter(from: Beginning): Promise<(tx: Transaction) => void> {
  const { store, ids, settings, clock, at } = from;
  // With --deterministic the same keys are drawn again, and what is drawn next depends on it.
  const seed = settings.deterministic ? from.seed : await store.read((view) => withKeptKeys(view, from.seed));
  return (tx) => {
    ids.restart();
    applySeed(tx, seed, ids);
    tx.put(clockState, clock.stateAt(at));
  };
}

/**
 * A seed with the keys and secrets that the present state made up for it. A reset begins with it, because programs
 * were handed those keys when the emulator started, and go on after the reset.
 */
async function withKeptKeys(view: View, seed: Seed): Promise<Seed> {
  const clusters = new Map((await view.list(clusterRows)).map((row) => [row.id, row]));
  const known = new Map((await view.list(workspaces)).map((row) => [row.id, row]));
  const apps = await readApps(view);
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

/**
 * What is to be said at the start when virtual time lies so far behind the wall that whoever checks tokens by their own
 * clock takes every one for expired (DECISIONS.md, P7); undefined while it does not. Ahead is no harm: tokens carry
 * no `nbf`.
 */
export function formatStaleTimeWarning(clock: Clock, wall: WallClock): string | undefined {
  const now = clock.now();
  if (wall.now() - now <= accessTokenLifetimeSeconds * 1_000) return undefined;
  return (
    `virtual time is ${isoSeconds(now)}, behind this machine's. Other programs treat the emulator's tokens as expired. ` +
    `Run \`svc emulator clock advance --to ${isoSeconds(wall.now())}\``
  );
}

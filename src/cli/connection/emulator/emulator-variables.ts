import { isHidden } from "../../../api/control-roles.ts";
import { toFields } from "../../../base/object.ts";
import type { Output } from "../../output/output.ts";
import type { Host } from "../../process/host.ts";
import { type EmulatorAccess, listKnownWorkspaces, selectWorkspace } from "./emulator-access.ts";

/**
 * Creates the variables that point programs at an emulator (DECISIONS.md, L21): `svc emulator exec` sets them and `svc
 * emulator env` prints them. An undefined variable must be unset, because it belongs to other services or users.
 */
export function createEmulatorVariables(emulator: EmulatorAccess): Readonly<Record<string, string | undefined>> {
  const { routerUrl, controlUrl, clusters, token } = emulator;
  const first = getMainCluster(emulator);
  return {
    SVC_BASE_URL: routerUrl,
    SVC_ROUTER_URL: routerUrl,
    SVC_CONTRACTS_URL: first?.url,
    SVC_CLIENT_ID: first?.clientId,
    SVC_CLIENT_SECRET: first?.clientSecret,
    SVC_CLUSTER_KEY: omitHidden(first?.clusterKey),
    SVC_WEBHOOK_HMAC_KEY: first?.hmacKey,
    SVC_EMULATOR_URL: controlUrl,
    SVC_EMULATOR_TOKEN: token,
    SVC_CLUSTERS: JSON.stringify(
      clusters.map(({ id, url, clientId, clientSecret, clusterKey }) => ({
        id,
        url,
        client_id: clientId,
        client_secret: clientSecret,
        cluster_key: omitHidden(clusterKey),
      })),
    ),
    SVC_TOKEN: undefined,
    SVC_PROFILE: undefined,
    SVC_BASIC_AUTH: undefined,
  };
}

/** Undefined if the token may not see the key: a token of one workspace does not see that of its cluster. */
const omitHidden = (secret: string | undefined): string | undefined => (isHidden(secret) ? undefined : secret);

/** The default cluster: the first one with a workspace. */
export const getMainCluster = ({
  clusters,
}: Pick<EmulatorAccess, "clusters">): EmulatorAccess["clusters"][number] | undefined =>
  clusters.find(({ clientId }) => clientId !== undefined) ?? clusters[0];

/** Values to hide in logs. They are only those of an emulator, but hiding them is a good habit. */
export const collectSecrets = ({
  clusters,
  token,
}: Pick<EmulatorAccess, "clusters" | "token">): readonly (string | undefined)[] => [
  token,
  ...clusters.flatMap(({ clientSecret, clusterKey, hmacKey }) => [clientSecret, clusterKey, hmacKey]),
];

const credentialVariables = [
  "SVC_CLIENT_ID",
  "SVC_CLIENT_SECRET",
  "SVC_CLUSTER_KEY",
  "SVC_CLUSTERS",
  "SVC_TOKEN",
  "SVC_BASIC_AUTH",
];

interface VisibleClusters<Access> {
  /** With the workspace's cluster first, if the environment names a workspace. */
  readonly access: Access;
  /** The key in the environment, if the emulator has that workspace. The emulator checks the secret. */
  readonly key: { readonly clientId: string; readonly clientSecret: string } | undefined;
  /** Variables that are set but never sent. */
  readonly unused: readonly string[];
}

/**
 * Selects the view of a local emulator by the environment. Of the credentials there, only an API key that the emulator
 * knows is sent, and selects the workspace. Others are the emulator's own, as printed by `svc emulator env`, or those
 * of a real service.
 */
export async function selectEnvironmentKey<Access extends EmulatorAccess>(
  access: Access,
  { env }: Pick<Host, "env">,
): Promise<VisibleClusters<Access>> {
  const { SVC_CLIENT_ID: clientId, SVC_CLIENT_SECRET: clientSecret } = env;
  const isForeign = (name: string) => env[name] && !isOwn(name, env[name], access);
  if (!clientId || !clientSecret) return { access, key: undefined, unused: credentialVariables.filter(isForeign) };
  const workspace = (await listKnownWorkspaces(access)).find(({ client_id }) => client_id === clientId);
  if (workspace === undefined) return { access, key: undefined, unused: credentialVariables.filter(isForeign) };
  const others = credentialVariables.filter((name) => name !== "SVC_CLIENT_ID" && name !== "SVC_CLIENT_SECRET");
  return {
    access: selectWorkspace(access, workspace),
    key: { clientId, clientSecret },
    unused: others.filter(isForeign),
  };
}

/** Whether this emulator issued the value. It is then used, because the emulator itself returns the same value. */
function isOwn(name: string, value: string, { clusters }: EmulatorAccess): boolean {
  if (name === "SVC_CLUSTER_KEY") return clusters.some(({ clusterKey }) => clusterKey === value);
  if (name === "SVC_CLUSTERS")
    return parseKeys(value)?.every((key) => clusters.some((one) => one.clusterKey === key)) === true;
  return false;
}

function parseKeys(list: string): unknown[] | undefined {
  try {
    const found: unknown = JSON.parse(list);
    return Array.isArray(found) ? found.map((one) => toFields(one).cluster_key) : undefined;
  } catch {
    return undefined;
  }
}

export async function noteUnused(unused: readonly string[], output: Pick<Output, "note">): Promise<void> {
  if (unused.length === 0) return;
  await output.note(`Ignored: ${unused.join(", ")} (not known to this emulator; see svc help addresses)`);
}

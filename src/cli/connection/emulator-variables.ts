import { isHidden } from "../../api/control-roles.ts";
import type { EmulatorAccess } from "./emulator-access.ts";

/**
 * The variables that point programs at an emulator (DECISIONS.md, L21): what `svc emulator exec` sets and what
 * `svc emulator env` prints. Undefined: to be taken away, for it speaks of other services or other people.
 */
export function emulatorVariables(emulator: EmulatorAccess): Readonly<Record<string, string | undefined>> {
  const { routerUrl, controlUrl, clusters, token } = emulator;
  const first = mainCluster(emulator);
  return {
    SVC_BASE_URL: routerUrl,
    SVC_ROUTER_URL: routerUrl,
    SVC_CONTRACTS_URL: first?.url,
    SVC_CLIENT_ID: first?.clientId,
    SVC_CLIENT_SECRET: first?.clientSecret,
    SVC_CLUSTER_KEY: shown(first?.clusterKey),
    SVC_WEBHOOK_HMAC_KEY: first?.hmacKey,
    SVC_EMULATOR_URL: controlUrl,
    SVC_EMULATOR_TOKEN: token,
    SVC_CLUSTERS: JSON.stringify(
      clusters.map(({ id, url, clientId, clientSecret, clusterKey }) => ({
        id,
        url,
        client_id: clientId,
        client_secret: clientSecret,
        cluster_key: shown(clusterKey),
      })),
    ),
    SVC_TOKEN: undefined,
    SVC_PROFILE: undefined,
    SVC_BASIC_AUTH: undefined,
  };
}

/** Undefined for a key that the token is not shown: that of a cluster is not for who has one of its workspaces. */
const shown = (secret: string | undefined): string | undefined => (isHidden(secret) ? undefined : secret);

/** The cluster whose workspace is meant where nobody names one: the first that has any. */
export const mainCluster = ({
  clusters,
}: Pick<EmulatorAccess, "clusters">): EmulatorAccess["clusters"][number] | undefined =>
  clusters.find(({ clientId }) => clientId !== undefined) ?? clusters[0];

/** What must not be read in a log: of a twin only, but habits are formed early. */
export const collectSecrets = ({
  clusters,
  token,
}: Pick<EmulatorAccess, "clusters" | "token">): readonly (string | undefined)[] => [
  token,
  ...clusters.flatMap(({ clientSecret, clusterKey, hmacKey }) => [clientSecret, clusterKey, hmacKey]),
];

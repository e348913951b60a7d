import { isHidden } from "../../../api/control-plane.ts";
import { toFields, tryParseJson } from "../../../base/object.ts";
import { getOrigin } from "../../../base/urls.ts";
import { isUnauthorized, NetworkError } from "../../../client/errors.ts";
import { isOnThisMachine } from "../../../files/machine.ts";
import type { Context } from "../../command.ts";
import type { Output } from "../../output/output.ts";
import type { Host } from "../../process/host.ts";
import { getCredentialHint } from "../../process/service-message.ts";
import { type EmulatorAccess, getMainCluster, listKnownWorkspaces, selectWorkspace } from "./emulator-access.ts";

/**
 * Creates the variables that point programs at an emulator (DECISIONS.md, L21). `svc emulator exec` sets them and `svc
 * emulator env` prints them. Variables that are undefined must be unset, because they belong to other services or
 * users.
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

/** Returns undefined for a hidden key. A token of one workspace cannot read the key of its cluster. */
const omitHidden = (secret: string | undefined): string | undefined => (isHidden(secret) ? undefined : secret);

const credentialVariables = [
  ...["SVC_CLIENT_ID", "SVC_CLIENT_SECRET", "SVC_CLUSTER_KEY", "SVC_CLUSTERS", "SVC_TOKEN", "SVC_BASIC_AUTH"],
];

/**
 * Selects the view of a local emulator by the environment. Only an API key of the emulator is sent, and its workspace
 * comes first in the view. Other credentials in the environment belong to the emulator, as printed by `svc emulator
 * env`, or to a real service. The emulator checks the secret.
 */
export async function selectEnvironmentKey<Access extends EmulatorAccess>(access: Access, { env }: Pick<Host, "env">) {
  const { SVC_CLIENT_ID: clientId, SVC_CLIENT_SECRET: clientSecret } = env;
  const workspaces = clientId && clientSecret ? await listKnownWorkspaces(access) : [];
  const workspace = workspaces.find(({ client_id }) => client_id === clientId);
  const isUsed = (name: string) => workspace !== undefined && /^SVC_CLIENT_(ID|SECRET)$/.test(name);
  const unused = credentialVariables.filter((name) => env[name] && !isUsed(name) && !isOwn(name, env[name], access));
  if (!workspace || !clientId || !clientSecret) return { access, key: undefined, unused };
  return { access: selectWorkspace(access, workspace), key: { clientId, clientSecret }, unused };
}

/** A value that this emulator issued counts as used, because the emulator returns the same one. */
function isOwn(name: string, value: string, { clusters }: EmulatorAccess): boolean {
  if (name === "SVC_CLUSTER_KEY") return clusters.some(({ clusterKey }) => clusterKey === value);
  const clusterList = name === "SVC_CLUSTERS" ? tryParseJson(value) : undefined;
  const isIssued = (entry: unknown) => clusters.some(({ clusterKey }) => clusterKey === toFields(entry).cluster_key);
  return Array.isArray(clusterList) && clusterList.every(isIssued);
}

export async function reportUnusedVariables(unused: readonly string[], output: Pick<Output, "note">): Promise<void> {
  if (unused.length === 0) return;
  await output.note(`Ignored: ${unused.join(", ")} (not known to this emulator; see svc help addresses)`);
}

/**
 * Suggests new variables if those of this shell name a local emulator that refuses the connection or the credentials.
 * Returns undefined for another cause, and if a flag selects the target.
 */
export function findStaleVariablesHint(error: unknown, { globals, host: { env } }: Pick<Context, "globals" | "host">) {
  const { SVC_EMULATOR_URL: control, SVC_BASE_URL, SVC_ROUTER_URL, SVC_CONTRACTS_URL } = env;
  const hasTargetFlag = globals.emulator || globals.baseUrl !== undefined || globals.profile !== undefined;
  if (hasTargetFlag || !control || !isOnThisMachine(control)) return undefined;
  const origins = [control, SVC_BASE_URL, SVC_ROUTER_URL, SVC_CONTRACTS_URL].map(getOrigin);
  const isRefused = error instanceof NetworkError && error.code === "ECONNREFUSED" && origins.includes(error.origin);
  const isRejected = isUnauthorized(error) && getCredentialHint(error) === undefined;
  if (!isRefused && !isRejected) return undefined;
  return `The variables of this shell may belong to an emulator that has ended. Run eval "$(svc emulator env)" again in the folder of a running one.`;
}

import type { Host } from "../host.ts";
import type { Output } from "../output/output.ts";
import type { EmulatorAccess } from "./emulator-access.ts";

/** Variables whose credentials are for a service. */
const credentialVariables = [
  "SVC_CLIENT_ID",
  "SVC_CLIENT_SECRET",
  "SVC_CLUSTER_KEY",
  "SVC_CLUSTERS",
  "SVC_TOKEN",
  "SVC_BASIC_AUTH",
];

interface Seen<Access> {
  /** With the workspace's cluster first, where the environment names one. */
  readonly access: Access;
  /** The key of the environment, where the emulator has that workspace; its secret the emulator checks. */
  readonly key: { readonly clientId: string; readonly clientSecret: string } | undefined;
  /** Variables that are set and sent nowhere. */
  readonly unused: readonly string[];
}

/**
 * An emulator of this machine as the environment wants to see it: of all credentials there only an API key that the
 * emulator knows is sent to it, and says as which of its workspaces. The others are those of a real service.
 */
export async function keyOfEnvironment<Access extends EmulatorAccess>(
  access: Access,
  { env }: Pick<Host, "env">,
): Promise<Seen<Access>> {
  const given = credentialVariables.filter((name) => env[name]);
  const { SVC_CLIENT_ID: clientId, SVC_CLIENT_SECRET: clientSecret } = env;
  if (!clientId || !clientSecret) return { access, key: undefined, unused: given };
  const { asWorkspace, workspacesOf } = await import("./emulator-access.ts");
  const workspace = (await workspacesOf(access)).find(({ client_id }) => client_id === clientId);
  if (workspace === undefined) return { access, key: undefined, unused: given };
  const unused = given.filter((name) => name !== "SVC_CLIENT_ID" && name !== "SVC_CLIENT_SECRET");
  return { access: asWorkspace(access, workspace), key: { clientId, clientSecret }, unused };
}

/** Says which credentials of the environment are not used, where there are any. */
export async function noteUnused(unused: readonly string[], output: Pick<Output, "note">): Promise<void> {
  if (unused.length === 0) return;
  await output.note(`Not used, for it does not know them: ${unused.join(", ")} (svc help addresses)`);
}

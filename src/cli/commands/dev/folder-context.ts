import { lookupTable } from "../../../base/object.ts";
import type { Client } from "../../../client/client.ts";
import type { Context } from "../../command.ts";
import { openClient } from "../../connection/http.ts";
import { resolveControlTarget, resolveServiceTarget } from "../../connection/target.ts";
import type { Output } from "../../output/output.ts";

/** Variables that select other services than the emulator of the folder. */
export const otherServices = lookupTable<undefined>({
  SVC_BASE_URL: undefined,
  SVC_ROUTER_URL: undefined,
  SVC_CONTRACTS_URL: undefined,
  SVC_EMULATOR_URL: undefined,
  SVC_EMULATOR_TOKEN: undefined,
  SVC_CLIENT_ID: undefined,
  SVC_CLIENT_SECRET: undefined,
  SVC_CLUSTER_KEY: undefined,
  SVC_CLUSTERS: undefined,
  SVC_WEBHOOK_HMAC_KEY: undefined,
  SVC_PROFILE: undefined,
  SVC_TOKEN: undefined,
});

/** Returns a context whose services are always those of this folder's emulator, at its current address. */
export function createFolderContext(context: Context, output: Output): Context {
  const { globals, onEnd } = context;
  const host = { ...context.host, env: { ...context.host.env, ...otherServices } };
  // The selected emulator was reported at the start.
  const quiet = { ...output, note: async () => {} };
  const target: Context["target"] = (service) =>
    service === "emulator"
      ? resolveControlTarget(globals, host, undefined, quiet, true)
      : resolveServiceTarget(globals, host, quiet);
  return {
    ...context,
    host,
    output,
    target,
    async client(service, { connections } = {}) {
      const { baseUrls, credentials } = await target(service);
      const made: Client = await openClient({ host, globals, output, baseUrls, credentials, connections });
      onEnd(() => made.close());
      return made;
    },
    svc: (argv, options) => context.svc(argv, { ...options, env: { ...otherServices, ...options?.env } }),
  };
}

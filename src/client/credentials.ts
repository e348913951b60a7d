import type { CallableOperation } from "../api/operation.ts";
import { MissingCredentialsError } from "./errors.ts";
import type { Credentials } from "./published.d.ts";

/**
 * The headers that authenticate a call of an operation. A missing cluster key is omitted, because the routing service
 * may accept that (DECISIONS.md, R6). Any other missing credential throws MissingCredentialsError.
 */
export function buildCredentialHeaders(
  operation: Pick<CallableOperation, "auth" | "service">,
  clusterId: string | undefined,
  credentials: Credentials,
): Record<string, string> {
  if (operation.service.name === "storage") return {};
  switch (operation.auth) {
    case "none":
      return {};
    case "api-key": {
      const { clientId, clientSecret } = credentials;
      if (!clientId || !clientSecret) {
        throw new MissingCredentialsError(
          "api-key",
          clientId ? "client secret" : clientSecret ? "client id" : undefined,
        );
      }
      return { "client-id": clientId, "client-secret": clientSecret };
    }
    case "cluster-key":
    case "cluster-key-or-bearer": {
      const { clusterKeys = {}, clusterKey } = credentials;
      const namedKey = clusterId && Object.hasOwn(clusterKeys, clusterId) ? clusterKeys[clusterId] : undefined;
      const key = namedKey || clusterKey;
      // The specification declares its optional header `authorization` without a purpose.
      const { bearer } = operation.auth === "cluster-key-or-bearer" ? credentials : { bearer: undefined };
      return {
        ...(key ? { "x-cluster-key": key } : {}),
        ...(bearer ? { authorization: `Bearer ${bearer}` } : {}),
      };
    }
    case "basic": {
      if (!credentials.basic) throw new MissingCredentialsError("basic");
      const { username, password } = credentials.basic;
      return { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}` };
    }
    case "bearer":
      if (!credentials.bearer) throw new MissingCredentialsError("bearer");
      return { authorization: `Bearer ${credentials.bearer}` };
    case "control-token":
      if (!credentials.controlToken) throw new MissingCredentialsError("control-token");
      return { authorization: `Bearer ${credentials.controlToken}` };
  }
}

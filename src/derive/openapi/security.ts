import type { Auth } from "../../api/operation.ts";
import type { Json } from "./schemas.ts";

const header = (name: string, description: string): Json => ({ type: "apiKey", in: "header", name, description });

/** Every way to show who one is, by its name in the documents. */
export const securitySchemes = {
  clientId: header("client-id", "The id of the workspace's API key"),
  clientSecret: header("client-secret", "The secret of the workspace's API key"),
  clusterKey: header("x-cluster-key", "The key of the cluster of the request"),
  clusterKeyAsBearer: { type: "http", scheme: "bearer", description: "The key of the cluster as a bearer token" },
  basic: { type: "http", scheme: "basic", description: "The credentials of the billing provider" },
  accessToken: { type: "http", scheme: "bearer", description: "An OAuth access token" },
  controlToken: {
    type: "http",
    scheme: "bearer",
    description: "The token in the emulator's run file, or a created token",
  },
} satisfies Record<string, Json>;

type Scheme = keyof typeof securitySchemes;

/**
 * What each kind of credentials demands: one of the rows, and all of a row. An empty row: they may be left out, which
 * the specification says of the cluster key and of userinfo's header (DECISIONS.md, R6).
 */
export const securityRequirements: Readonly<Record<Auth, readonly (readonly Scheme[])[]>> = {
  none: [],
  "api-key": [["clientId", "clientSecret"]],
  "cluster-key": [["clusterKey"], []],
  "cluster-key-or-bearer": [["clusterKey"], ["clusterKeyAsBearer"], []],
  basic: [["basic"]],
  bearer: [["accessToken"], []],
  "control-token": [["controlToken"]],
};

import { assumed } from "../../basis.ts";
import { detail, type Failure } from "../../failure.ts";
import { appFailures } from "./apps.ts";
import { oauthFailures } from "./oauth.ts";

/** One item of FastAPI's validation error, its keys in the order of the wire. */
export interface ValidationItem {
  readonly type: string;
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly input?: unknown;
  readonly ctx?: Readonly<Record<string, unknown>>;
}

const validation: Failure<readonly ValidationItem[]> = {
  status: 422,
  shape: "validation",
  when: "the path, query, headers or body are not as declared",
  basis: "specified",
  body: (items) => ({ detail: items }),
};

/** What routing itself may refuse: keys, mappings, forwarding. */
const routingFailures = {
  validation,
  "unparsable-body": detail({
    status: 400,
    when: "the body is not UTF-8, or is nested too deeply",
    basis: "public",
    says: "There was an error parsing the body",
  }),
  "body-too-large": detail({
    status: 413,
    when: "the body is larger than 64 MiB",
    basis: assumed("The specification has no limit. The emulator requires one."),
    says: "Request body is too large",
  }),
  "store-failed": detail({
    status: 503,
    when: "the state cannot be written to disk",
    basis: assumed("A service that cannot write responds that it is unavailable."),
    says: "The service cannot write its state",
  }),
  "missing-cluster-key": detail({
    status: 401,
    when: "x-cluster-key is absent and the emulator runs with --strict=keys",
    basis: assumed("The header is optional. The meaning of its absence is not specified (DECISIONS.md, R6)."),
    says: "Missing cluster key",
  }),
  "invalid-cluster-key": detail({
    status: 401,
    when: "x-cluster-key is not the key of a cluster",
    basis: assumed("The validation of keys is not specified (DECISIONS.md, R6)."),
    says: "Invalid cluster key",
  }),
  "foreign-cluster-key": detail({
    status: 403,
    when: "x-cluster-key is the key of another cluster than that of the request",
    basis: assumed("The validation of keys is not specified (DECISIONS.md, R6)."),
    says: ({ cluster }: { cluster: string }) => `This cluster key is not of cluster ${cluster}`,
  }),
  "unknown-cluster": detail({
    status: 404,
    when: "the cluster named in the body or the path does not exist",
    basis: assumed("The response for an unknown cluster is not specified (DECISIONS.md, R7)."),
    says: ({ cluster }: { cluster: string }) => `Unknown cluster: ${cluster}`,
  }),
  "too-many-clients": detail({
    status: 400,
    when: "10,000 OAuth clients exist",
    basis: assumed("A limit of the emulator: creating clients is unauthenticated (DECISIONS.md, E11)."),
    says: "The emulator stores at most 10,000 OAuth clients. To remove created clients, run svc emulator reset.",
  }),
  "client-name-too-long": detail({
    status: 400,
    when: "the name of the client has more than 1,000 characters",
    basis: assumed("A limit of the emulator: creating clients is unauthenticated (DECISIONS.md, E11)."),
    says: "The name of a client must be at most 1,000 characters.",
  }),
  "no-email-mapping": detail({
    status: 404,
    when: "the e-mail hash has no cluster mapping",
    basis: assumed("The response for a missing mapping is not specified (DECISIONS.md, R8)."),
    says: "No cluster mapping for this email hash",
  }),
  "no-client-mapping": detail({
    status: 404,
    when: "the client ID has no cluster mapping",
    basis: assumed("The response for a missing mapping is not specified (DECISIONS.md, R8)."),
    says: "No cluster mapping for this client id",
  }),
  "cluster-unreachable": detail({
    status: 502,
    when: "the owning cluster refuses or closes the connection",
    basis: assumed("The usual response of a gateway (DECISIONS.md, R12)."),
    says: ({ cluster }: { cluster: string }) => `Cluster ${cluster} is unreachable`,
  }),
  "no-cluster-reachable": detail({
    status: 502,
    when: "none of the clusters can be reached",
    basis: assumed("The usual response of a gateway (DECISIONS.md, R13)."),
    says: "No cluster is reachable",
  }),
  "cluster-timeout": detail({
    status: 504,
    when: "the cluster takes longer than the upstream timeout of 30 s",
    basis: assumed("The usual response of a gateway (DECISIONS.md, R12)."),
    says: ({ cluster }: { cluster: string }) => `Cluster ${cluster} did not answer in time`,
  }),
  "forwarding-loop": detail({
    status: 508,
    when: "this router has already forwarded the request: a cluster's URL is the router itself",
    basis: assumed("The usual response of a gateway (DECISIONS.md, R12)."),
    says: "The request was forwarded by this router already; a cluster URL points at the router itself",
  }),
};

export const routerFailures = { ...routingFailures, ...appFailures, ...oauthFailures };

/** What an operation may refuse with whose request goes to one cluster (DECISIONS.md, R12). */
export const forwardingToOne = ["cluster-unreachable", "cluster-timeout", "forwarding-loop"] as const;

/** What one may refuse with whose request goes to several at once, whichever answers (DECISIONS.md, R13). */
export const forwardingToAll = ["no-cluster-reachable", "cluster-timeout", "forwarding-loop"] as const;

/** What one may refuse with whose request goes to its owner, and to all where it has none. */
export const forwarding = [
  "cluster-unreachable",
  "no-cluster-reachable",
  "cluster-timeout",
  "forwarding-loop",
] as const satisfies readonly (typeof forwardingToOne | typeof forwardingToAll)[number][];

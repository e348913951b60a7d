import type { IdsOf } from "../../src/api/registry.ts";
import type { HandlerContext, Handlers } from "../http/handler.ts";
import type { Blobs } from "../store/blobs.ts";
import type { Cluster } from "../world/clusters.ts";
import type { Settings } from "../world/settings.ts";
import type { User, Workspace } from "../world/workspaces.ts";
import type { PdfReader } from "./pdf/reader.ts";
import type { StandardSet } from "./workspace/standard-set.ts";

/** What the handlers of a cluster may use. */
export interface ClusterContext extends HandlerContext {
  readonly settings: Settings;
  readonly cluster: Cluster;
  /** Uploaded bytes, by SHA-256. */
  readonly blobs: Blobs;
  readonly pdfs: PdfReader;
  /** What a new workspace begins with. */
  standardSet(): StandardSet;
}

/** Whom client-id, client-secret and user-email name. */
export interface AuthenticatedMember {
  readonly workspace: Workspace;
  readonly user: User;
}

/** Handlers of operations of the contract API; the table made of all resources says whether every one is there. */
export type ClusterHandlers = Partial<Handlers<IdsOf<"contracts">, ClusterContext, AuthenticatedMember>>;

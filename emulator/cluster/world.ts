import type { World } from "../http/handler.ts";
import type { Blobs } from "../store/blobs.ts";
import type { Cluster } from "../world/clusters.ts";
import type { Settings } from "../world/settings.ts";
import type { User, Workspace } from "../world/workspaces.ts";
import type { PdfReader } from "./pdf/reader.ts";

/** What the handlers of a cluster may use. */
export interface ClusterWorld extends World {
  readonly settings: Settings;
  readonly cluster: Cluster;
  /** Uploaded bytes, by SHA-256. */
  readonly blobs: Blobs;
  readonly pdfs: PdfReader;
}

/** Whom client-id, client-secret and user-email name. */
export interface Member {
  readonly workspace: Workspace;
  readonly user: User;
}

import type { IdsOf } from "../../src/api/registry.ts";
import type { Cluster } from "../domain/clusters.ts";
import type { Settings } from "../domain/settings.ts";
import type { ContractType, Role, Template, User, Workflow, Workspace } from "../domain/workspaces.ts";
import type { HandlerContext, Handlers } from "../http/handler.ts";
import type { Blobs } from "../store/blobs.ts";
import type { PdfReader } from "./pdf/reader.ts";

export interface ClusterContext extends HandlerContext {
  readonly settings: Settings;
  readonly cluster: Cluster;
  /** Uploaded bytes, by SHA-256. */
  readonly blobs: Blobs;
  readonly pdfs: PdfReader;
  getStandardSet(): StandardSet;
}

/** Contents of every new workspace. Rows refer to each other by their ids here; the copies get new ids. */
export interface StandardSet extends Pick<Workspace, "organization_types" | "jurisdictions"> {
  readonly roles: readonly Role[];
  readonly contract_types: readonly ContractType[];
  readonly templates: readonly Template[];
  readonly workflows: readonly Workflow[];
}

/** The caller, authenticated by client-id, client-secret and user-email. */
export interface AuthenticatedMember {
  readonly workspace: Workspace;
  readonly user: User;
}

/** Handlers for the operations of the contract API. The type of the combined table ensures that none is missing. */
export type ClusterHandlers = Partial<Handlers<IdsOf<"contracts">, ClusterContext, AuthenticatedMember>>;

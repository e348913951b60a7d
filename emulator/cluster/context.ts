import type { FailureCode } from "../../src/api/failures.ts";
import type { IdsOf } from "../../src/api/registry.ts";
import type { Cluster } from "../domain/clusters.ts";
import type { EmulatorSettings } from "../domain/settings.ts";
import type {
  ContractTemplate,
  ContractType,
  IntakeWorkflow,
  User,
  Workspace,
  WorkspaceRole,
} from "../domain/workspaces.ts";
import type {
  FindingReporter,
  HandlerCall,
  HandlerContext,
  OperationHandlers,
  ReceivedRequest,
} from "../http/handler.ts";
import type { Passthrough } from "../http/reply.ts";
import type { Blobs } from "../store/blobs.ts";
import type { PdfReader } from "./pdf/reader.ts";

export interface ClusterContext extends HandlerContext {
  readonly settings: EmulatorSettings;
  readonly cluster: Cluster;
  readonly blobs: Blobs;
  readonly pdfs: PdfReader;
  getStandardSet(): StandardSet;
}

/** Contents of every new workspace. Rows refer to each other by their ids, and the copies get new ids. */
export interface StandardSet extends Pick<Workspace, "organization_types" | "jurisdictions"> {
  readonly roles: readonly WorkspaceRole[];
  readonly contract_types: readonly ContractType[];
  readonly templates: readonly ContractTemplate[];
  readonly workflows: readonly IntakeWorkflow[];
}

/** The caller, authenticated by client-id, client-secret and user-email. */
export interface AuthenticatedMember {
  readonly workspace: Workspace;
  readonly user: User;
}

/** Resources of a handler whose operation declares these failures. */
export type ClusterCall<Code extends FailureCode = never> = ClusterContext & HandlerCall<Code, AuthenticatedMember>;

export type CallerContext = Pick<ClusterCall, "clock" | "caller">;

/** Handlers for the operations of the contract API. The type of the combined table ensures that none is missing. */
export type ClusterHandlers = Partial<OperationHandlers<IdsOf<"contracts">, ClusterContext, AuthenticatedMember>>;

/** Responds to a request that the router forwarded. Returns undefined for a request that it does not handle. */
export type ForwardedHandler = (
  request: ReceivedRequest,
  context: ClusterContext,
  finding: FindingReporter,
) => Promise<Passthrough | undefined> | Passthrough | undefined;

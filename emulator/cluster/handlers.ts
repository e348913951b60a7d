import type { IdsOf } from "../../src/api/registry.ts";
import type { Handlers } from "../http/handler.ts";
import type { Planned } from "../planned.ts";
import { approvalHandlers } from "./approvals.ts";
import { commentHandlers } from "./comments.ts";
import { contractDetailHandlers } from "./contract-details.ts";
import { contractListHandlers } from "./contract-list.ts";
import { contractTypeHandlers } from "./contract-types.ts";
import { contractHandlers } from "./contracts.ts";
import { counterpartyHandlers } from "./counterparties.ts";
import { counterpartyAddressHandlers } from "./counterparty-addresses.ts";
import { counterpartyContactHandlers } from "./counterparty-contacts.ts";
import { documentHandlers } from "./documents.ts";
import { executedHandlers } from "./executed.ts";
import { executionHandlers } from "./execution.ts";
import { externalMetadataHandlers } from "./external-metadata.ts";
import { fileHandlers } from "./files.ts";
import type { ClusterWorld, Member } from "./home.ts";
import { intakeHandlers } from "./intake.ts";
import { intakeFormHandlers } from "./intake-form.ts";
import { keyPointerHandlers } from "./key-pointers.ts";
import { organizationHandlers } from "./organizations.ts";
import { paperHandlers } from "./paper.ts";
import { templateHandlers } from "./templates.ts";
import { userHandlers } from "./users.ts";
import { webhookHandlers } from "./webhooks.ts";

export { storageHandlers } from "./storage.ts";

/** The handlers of the public contract API. */
export const contractApiHandlers = {
  ...fileHandlers,
  ...intakeHandlers,
  ...contractHandlers,
  ...externalMetadataHandlers,
  ...contractListHandlers,
  ...executionHandlers,
  ...documentHandlers,
  ...contractDetailHandlers,
  ...executedHandlers,
  ...paperHandlers,
  ...intakeFormHandlers,
  ...webhookHandlers,
  ...counterpartyHandlers,
  ...counterpartyContactHandlers,
  ...counterpartyAddressHandlers,
  ...templateHandlers,
  ...contractTypeHandlers,
  ...organizationHandlers,
  ...userHandlers,
  ...keyPointerHandlers,
  ...commentHandlers,
  ...approvalHandlers,
} satisfies Handlers<Exclude<IdsOf<"contracts">, Planned>, ClusterWorld, Member>;

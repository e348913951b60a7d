import type { ClusterHandlers } from "./context.ts";
import { accessHandlers } from "./contracts/access.ts";
import { commentHandlers } from "./contracts/comments.ts";
import { contractHandlers } from "./contracts/contracts.ts";
import { paperHandlers } from "./contracts/creation/paper.ts";
import { contractDetailHandlers } from "./contracts/details.ts";
import { externalMetadataHandlers } from "./contracts/external-metadata.ts";
import { approvalHandlers } from "./contracts/lifecycle/approvals.ts";
import { executionHandlers } from "./contracts/lifecycle/execution.ts";
import { contractListHandlers } from "./contracts/list.ts";
import { counterpartyContactHandlers } from "./counterparties/contacts.ts";
import { counterpartyHandlers } from "./counterparties/counterparties.ts";
import { documentHandlers } from "./documents/documents.ts";
import { intakeHandlers } from "./intake/intake.ts";
import { userTaskHandlers } from "./intake/user-tasks.ts";
import { fileHandlers } from "./storage/storage.ts";
import { keyPointerHandlers } from "./templates/key-pointers.ts";
import { templateHandlers } from "./templates/templates.ts";
import { userHandlers } from "./workspace/users.ts";
import { webhookHandlers } from "./workspace/webhooks.ts";

export const contractApiHandlers = {
  ...fileHandlers,
  ...intakeHandlers,
  ...userTaskHandlers,
  ...contractHandlers,
  ...contractListHandlers,
  ...executionHandlers,
  ...documentHandlers,
  ...contractDetailHandlers,
  ...externalMetadataHandlers,
  ...accessHandlers,
  ...paperHandlers,
  ...webhookHandlers,
  ...counterpartyHandlers,
  ...counterpartyContactHandlers,
  ...templateHandlers,
  ...userHandlers,
  ...keyPointerHandlers,
  ...commentHandlers,
  ...approvalHandlers,
} satisfies Required<ClusterHandlers>;

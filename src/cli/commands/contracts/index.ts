import type { Command } from "../../command.ts";
import { contractsCreate, contractsImportExecuted } from "./create.ts";
import { contractsReconcile } from "./reconcile.ts";
import { contractsSend, contractsStatus } from "./send.ts";

export const commands: readonly Command[] = [
  contractsCreate,
  contractsImportExecuted,
  contractsReconcile,
  contractsSend,
  contractsStatus,
];

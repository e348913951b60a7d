import type { Command } from "../../command.ts";
import { contractsCreate } from "./create.ts";
import { contractsImportExecuted } from "./import-executed.ts";
import { contractsReconcile } from "./reconcile.ts";
import { contractsSend } from "./send.ts";
import { contractsStatus } from "./status.ts";

export const commands: readonly Command[] = [
  contractsCreate,
  contractsImportExecuted,
  contractsReconcile,
  contractsSend,
  contractsStatus,
];

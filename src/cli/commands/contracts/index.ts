import type { Command } from "../../command.ts";
import { contractsCreate } from "./create.ts";
import { contractsSend } from "./send.ts";
import { contractsStatus } from "./status.ts";

export const commands: readonly Command[] = [contractsCreate, contractsSend, contractsStatus];

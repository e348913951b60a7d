import type { Command } from "../../command.ts";
import { verifyProxy } from "./proxy.ts";
import { verifyRecord } from "./record.ts";
import { verifyReplay } from "./replay.ts";
import { verifyScan } from "./scan.ts";

export const commands: readonly Command[] = [verifyRecord, verifyProxy, verifyScan, verifyReplay];

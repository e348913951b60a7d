import type { Command } from "../../command.ts";
import { emulatorExec } from "./exec.ts";
import { emulatorRepair } from "./repair.ts";
import { emulatorStart } from "./start.ts";
import { emulatorStatus } from "./status.ts";
import { emulatorStop } from "./stop.ts";

export const commands: readonly Command[] = [emulatorStart, emulatorExec, emulatorStop, emulatorStatus, emulatorRepair];

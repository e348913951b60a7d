import type { Command } from "../../command.ts";
import { emulatorClockShow } from "./clock-show.ts";
import { deviceApprove, deviceDeny } from "./device.ts";
import { emulatorEnv } from "./env.ts";
import { emulatorExec } from "./exec.ts";
import { tokensCreate, workspacesCreate } from "./masked-commands.ts";
import { emulatorOpen } from "./open-console.ts";
import { emulatorRepair } from "./repair.ts";
import { emulatorDeliveries, emulatorRequests } from "./requests.ts";
import { deliveriesResend, webhooksResend } from "./resend.ts";
import { emulatorSeedSchema } from "./seed-schema.ts";
import { snapshotDiff } from "./snapshot-diff.ts";
import { emulatorStart } from "./start.ts";
import { emulatorStateExport, emulatorStateImport } from "./state.ts";
import { emulatorStatus } from "./status.ts";
import { emulatorStop } from "./stop.ts";
import { emulatorTrace } from "./trace.ts";
import { emulatorWaitFor } from "./wait-for.ts";
import { emulatorWorkspaces } from "./workspaces.ts";

export const commands: readonly Command[] = [
  emulatorStart,
  emulatorExec,
  emulatorEnv,
  emulatorOpen,
  emulatorStop,
  emulatorStatus,
  emulatorClockShow,
  emulatorWaitFor,
  emulatorTrace,
  emulatorWorkspaces,
  workspacesCreate,
  tokensCreate,
  emulatorRequests,
  emulatorDeliveries,
  deliveriesResend,
  webhooksResend,
  deviceApprove,
  deviceDeny,
  emulatorRepair,
  emulatorSeedSchema,
  snapshotDiff,
  emulatorStateExport,
  emulatorStateImport,
];

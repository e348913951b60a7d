import type { Command } from "../../command.ts";
import { jobsList, jobsPrune, jobsResults, jobsResume, jobsShow, jobsUndo } from "./jobs.ts";
import { mappingCommands } from "./mapping.ts";
import { routerOffboard } from "./offboard.ts";
import { routerResolve } from "./resolve.ts";
import { commands as showEmail } from "./show-email.ts";

export const commands: readonly Command[] = [
  ...mappingCommands,
  routerOffboard,
  routerResolve,
  ...showEmail,
  jobsList,
  jobsShow,
  jobsResume,
  jobsResults,
  jobsUndo,
  jobsPrune,
];

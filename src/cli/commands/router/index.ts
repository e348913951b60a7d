import type { Command } from "../../command.ts";
import { jobsList, jobsResults, jobsResume, jobsShow } from "./jobs.ts";
import { mappingCommands } from "./mapping.ts";
import { offboard } from "./offboard.ts";

export const commands: readonly Command[] = [...mappingCommands, offboard, jobsList, jobsShow, jobsResume, jobsResults];

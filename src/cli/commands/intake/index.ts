import type { Command } from "../../command.ts";
import { intakeCreate } from "./create.ts";

export const commands: readonly Command[] = [intakeCreate];

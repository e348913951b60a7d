import type { Command } from "../../command.ts";
import { billingEvent } from "./event.ts";

export const commands: readonly Command[] = [billingEvent];

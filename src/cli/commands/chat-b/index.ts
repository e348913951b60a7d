import type { Command } from "../../command.ts";
import { chatBMessaging } from "./messaging.ts";

export const commands: readonly Command[] = [chatBMessaging];

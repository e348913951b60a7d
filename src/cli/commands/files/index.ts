import type { Command } from "../../command.ts";
import { filesDownload } from "./download.ts";
import { filesUpload } from "./upload.ts";

export const commands: readonly Command[] = [filesUpload, filesDownload];

import type { Command } from "../../command.ts";
import { configGet } from "./get.ts";
import { configList } from "./list.ts";
import { configProfiles } from "./profiles.ts";
import { configRemove } from "./remove.ts";
import { configSet } from "./set.ts";
import { configUnset } from "./unset.ts";
import { configUse } from "./use.ts";

export const commands: readonly Command[] = [
  configList,
  configGet,
  configSet,
  configUnset,
  configUse,
  configProfiles,
  configRemove,
];

import { mappingWork } from "./mapping-work.ts";
import { offboardWork } from "./offboard-work.ts";
import type { BulkWork } from "./work.ts";

const all: readonly BulkWork[] = [...mappingWork, offboardWork];

/** Finds the kind of a job by the name of its command. */
export const findWork = (name: string): BulkWork | undefined => all.find((work) => work.name === name);

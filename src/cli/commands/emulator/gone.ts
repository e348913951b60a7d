import { NetworkError } from "../../../client/errors.ts";

/** Whether nothing listens any more where an emulator was. One that hangs or hangs up is there, and in trouble. */
export const isGone = (error: unknown): boolean => error instanceof NetworkError && error.code === "ECONNREFUSED";

// Exports of the bundle for `bin/svc.js`.
export { main } from "./main.ts";
export { createProcessHost } from "./process-host.ts";

/** Set by the build: the version of the package. */
declare const SVC_VERSION: string | undefined;

export const version = typeof SVC_VERSION === "undefined" ? "0.0.0" : SVC_VERSION;

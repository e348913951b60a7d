// What the bundle offers to `bin/svc.cjs`.
export { main } from "./main.ts";
export { processHost } from "./process-host.ts";

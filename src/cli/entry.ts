// What the bundle offers to `bin/svc.js`.
export { main } from "./main.ts";
export { processHost } from "./process-host.ts";

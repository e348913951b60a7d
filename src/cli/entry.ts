// What the bundle offers to `bin/svc.js`.

// And to what is loaded late: nearly all of that uses these few lines, which would be a file of their own.
export { command } from "./command.ts";
export { main } from "./main.ts";
export { processHost } from "./process-host.ts";

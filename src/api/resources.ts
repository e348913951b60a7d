/**
 * Where each resource's operations are declared. A command loads the one module it needs from here; the registry
 * loads all. The first part of a key is the service.
 */
export const resources = {
  "router/health": () => import("./router/health.ts"),
  "contracts/files": () => import("./contracts/files.ts"),
  "contracts/intake": () => import("./contracts/intake.ts"),
  "contracts/webhooks": () => import("./contracts/webhooks.ts"),
  "storage/objects": () => import("./storage/objects.ts"),
  "emulator/lifecycle": () => import("./emulator/lifecycle.ts"),
  "emulator/state": () => import("./emulator/state.ts"),
} as const;

export type ResourceName = keyof typeof resources;

/**
 * The routes of operations with which a command finds the emulator. They are apart from the declarations, because the
 * schemas take longer to load than the rest of a command.
 */
export const readinessRoute = { id: "emulator.ready", method: "GET", path: "/_emulator/ready", auth: "none" } as const;

export const clustersRoute = {
  id: "emulator.clusters",
  method: "GET",
  path: "/_emulator/clusters",
  auth: "control-token",
} as const;

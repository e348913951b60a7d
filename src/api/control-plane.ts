/** Roles of control tokens. Each includes the permissions of the roles before it. */
export const controlRoles = ["read", "operate", "admin"] as const;
export type ControlRole = (typeof controlRoles)[number];

const hidden = "[hidden: requires ";

/** Returns the placeholder for a secret that a token cannot see, with the role that the secret requires. */
export const formatHiddenValue = (needs: string): string => `${hidden}${needs}]`;

/** Reports whether a value is the placeholder of a hidden secret. */
export const isHidden = (value: string | undefined): boolean => value?.startsWith(hidden) === true;

/** Reports whether one role includes the permissions of another. */
export const isAllowed = (has: ControlRole, needs: ControlRole): boolean =>
  controlRoles.indexOf(has) >= controlRoles.indexOf(needs);

/** The checks that `--strict` turns on, by name (DECISIONS.md, E1). */
export const strictChecks = ["bodies", "keys", "paths", "pkce", "storage", "receivers", "signatures"] as const;
export type StrictCheck = (typeof strictChecks)[number];

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

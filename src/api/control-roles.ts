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

/** Roles of control tokens. Each includes the permissions of the roles before it. */
export const controlRoles = ["read", "operate", "admin"] as const;
export type ControlRole = (typeof controlRoles)[number];

const hidden = "[hidden: requires ";

/** The placeholder for a secret that a token may not see, with the role that it requires. */
export const formatHiddenValue = (needs: string): string => `${hidden}${needs}]`;

/** Whether a value is such a placeholder. */
export const isHidden = (value: string | undefined): boolean => value?.startsWith(hidden) === true;

/** Whether one role includes the permissions of another. */
export const isAllowed = (has: ControlRole, needs: ControlRole): boolean =>
  controlRoles.indexOf(has) >= controlRoles.indexOf(needs);

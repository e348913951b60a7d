/** Roles of control tokens, each with the permissions of those before it. */
export const controlRoles = ["read", "operate", "admin"] as const;
export type ControlRole = (typeof controlRoles)[number];

const hidden = "[hidden: requires ";

/** Stands for a secret that a token is not shown, and says which one is. */
export const formatHiddenValue = (needs: string): string => `${hidden}${needs}]`;

/** Whether a value stands for a secret that was not shown. */
export const isHidden = (value: string | undefined): boolean => value?.startsWith(hidden) === true;

/** Whether one role includes the permissions of the other. */
export const isAllowed = (has: ControlRole, needs: ControlRole): boolean =>
  controlRoles.indexOf(has) >= controlRoles.indexOf(needs);

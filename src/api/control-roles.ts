/** What a token of the control plane may do, each with all that those before it may. */
export const controlRoles = ["read", "operate", "admin"] as const;
export type ControlRole = (typeof controlRoles)[number];

const hidden = "[hidden: requires ";

/** Stands for a secret that a token is not shown, and says which one is. */
export const hiddenFrom = (needs: string): string => `${hidden}${needs}]`;

/** Whether a value stands for a secret that was not shown. */
export const isHidden = (value: string | undefined): boolean => value?.startsWith(hidden) === true;

/** Whether who has one role may do what takes the other. */
export const isAllowed = (has: ControlRole, needs: ControlRole): boolean =>
  controlRoles.indexOf(has) >= controlRoles.indexOf(needs);

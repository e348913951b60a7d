/** `creator`: to become a member of a workspace. `counterparty`: to one of its contracts. */
export const invitationKinds = ["creator", "counterparty"] as const;
export type InvitationKind = (typeof invitationKinds)[number];

/** The kind that `email_type` in a link says, which spells it in two ways; undefined where it says neither. */
export function invitationKindOf(emailType: string): InvitationKind | undefined {
  if (emailType === "creator") return "creator";
  return /^counter_?party$/.test(emailType) ? "counterparty" : undefined;
}

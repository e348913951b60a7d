/** What an e-mail is for that the platform sends. */
export const emailPurposes = ["signing", "redlining", "invitation", "trial"] as const;
export type EmailPurpose = (typeof emailPurposes)[number];

/** What the e-mail provider reports, by RecordType, and what it means for an e-mail (DECISIONS.md, R27). */
export const mailerEvents = {
  Delivery: "DELIVERED",
  Open: "OPENED",
  Click: "LINK_CLICKED",
  Bounce: "NOT_DELIVERED",
  Drop: "NOT_DELIVERED",
  SpamComplaint: "NOT_DELIVERED",
} as const;
export type MailerEvent = keyof typeof mailerEvents;
export const mailerEventNames = Object.keys(mailerEvents) as [MailerEvent, ...MailerEvent[]];

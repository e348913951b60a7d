import * as z from "zod";
import { type Activity, activities } from "../activities.ts";
import { emailPurposes, mailerEventNames } from "../emulator/deliveries.ts";
import { dictionary, timestamp } from "../shapes.ts";
import { contractStatus } from "./shapes.ts";

/** A person in a payload. The service is named SYSTEM and has no address. */
export const WebhookPerson = z.object({ name: z.string(), email: z.string().optional() });

export const WebhookCounterparty = z.object({
  type: z.enum(["Organization", "Individual"]),
  organization_name: z.string().optional(),
  poc_name: z.string().optional(),
  poc_email: z.string().optional(),
  counterparty_id: z.int(),
});

export const WebhookEntity = z.object({
  reference_id: z.string(),
  name: z.string(),
  jurisdiction: z.string(),
  type: z.string(),
});

/** The contract in a payload, with its fields in wire order (DECISIONS.md, F21). */
export const ContractFacts = z.object({
  contract_id: z.int().describe("Number of the contract, without T- or H-"),
  contract_title: z.string(),
  contract_type: z.string(),
  contract_type_name: z.string(),
  contract_type_id: z.int(),
  contract_status: contractStatus,
  contract_kind: z.string(),
  business_user: WebhookPerson,
  legal_user: WebhookPerson.optional(),
  created_at: timestamp,
  counterparties: z.array(WebhookCounterparty).optional(),
  external_metadata: dictionary(z.unknown()).optional(),
  entity: WebhookEntity.optional(),
  contract_reference_id: z.string().optional(),
  contract_template_id: z.int().optional(),
});

/**
 * The keys of `activity_data`. Those of e-mails, sending and notifications are public (DECISIONS.md, F21). Those of
 * comments, counterparties and key pointers are assumed, and absent if the activity is triggered manually.
 */
export const ActivityData = z.looseObject({ performed_by: WebhookPerson, timestamp });

export const EmailActivityData = ActivityData.extend({
  email_event_data: z
    .object({
      recipient_email: z.string(),
      email_mode: z.enum(["to", "cc"]),
      occured_at: timestamp.describe("Spelled like this in the API"),
    })
    .optional()
    .describe("Absent without a recipient"),
});
export const MailerActivityData = EmailActivityData.extend({
  mailer_event: z
    .object({ type: z.enum(mailerEventNames), purpose: z.enum(emailPurposes) })
    .optional()
    .describe("Report of the provider and its e-mail; its payload is not public"),
});
export const CounterpartyActivityData = ActivityData.extend({ counterparty_id: z.int().optional() });
export const ContactActivityData = CounterpartyActivityData.extend({ contact_id: z.int().optional() });
export const AddressActivityData = CounterpartyActivityData.extend({ address_id: z.int().optional() });
export const KeyPointerActivityData = ActivityData.extend({
  key_pointer: z.object({ id: z.int(), field_name: z.string(), value: z.unknown() }).optional(),
});
export const CommentActivityData = ActivityData.extend({
  comment: z.object({ id: z.int(), comment: z.string() }).optional(),
});
const addresses = z.array(z.string());
export const SendingActivityData = ActivityData.extend({
  counterparty_email_recipients: z.object({ to_recipients: addresses, cc_recipients: addresses }),
});
export const NotificationActivityData = ActivityData.extend({
  signatory: z.object({ name: z.string(), email: z.string() }).optional(),
});

const dataOfActivity: Readonly<Partial<Record<Activity, z.ZodObject>>> = {
  CONTRACT_SENT_TO_COUNTERPARTY: SendingActivityData,
  CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT: NotificationActivityData,
  MAILER_EMAIL_EVENT: MailerActivityData,
  CONTRACT_ACTIVITY_LOG_COMMENT_CREATED: CommentActivityData,
  CONTRACT_KEY_POINTER_CREATION: KeyPointerActivityData,
  CONTRACT_KEY_POINTER_UPDATION: KeyPointerActivityData,
  COUNTER_PARTY_CREATED: CounterpartyActivityData,
  COUNTER_PARTY_UPDATED: CounterpartyActivityData,
  COUNTER_PARTY_CONTACT_CREATED: ContactActivityData,
  COUNTER_PARTY_CONTACT_UPDATED: ContactActivityData,
  COUNTER_PARTY_ADDRESS_CREATED: AddressActivityData,
  COUNTER_PARTY_ADDRESS_UPDATED: AddressActivityData,
};

const buildPayloadSchema = (activity: Activity): z.ZodObject =>
  z.looseObject({
    activity: z.literal(activity),
    activity_data: dataOfActivity[activity] ?? (activity.includes("_EMAIL_") ? EmailActivityData : ActivityData),
    // A counterparty can exist before its contract, and an e-mail need not concern one (DECISIONS.md, C17).
    ...(activity.startsWith("COUNTER_PARTY_") || activity === "MAILER_EMAIL_EVENT"
      ? ContractFacts.partial()
      : ContractFacts
    ).shape,
  });

/** Body of a webhook request, by activity. */
export const webhookPayloads: ReadonlyMap<Activity, z.ZodObject> = new Map(
  activities.map((activity) => [activity, buildPayloadSchema(activity)]),
);

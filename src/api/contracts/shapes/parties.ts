import * as z from "zod";
import { dictionary } from "../../dictionary.ts";
import { email } from "../../email.ts";
import { expectedCountry } from "../../expectation.ts";
import { noEffectNote } from "./no-effect-note.ts";

/** Whom to write to at the other side. */
export const PocDetails = z.object({
  first_name: z.string().min(1),
  last_name: z.string().default(""),
  email,
});

export const Address = z.object({
  line_one: z.string().min(1),
  line_two: z.string().nullish(),
  city: z.string().min(1),
  state: z.string().default(""),
  zipcode: z.string().default(""),
  country: z.string().nullish(),
  country_iso_code: expectedCountry,
  email: z.string().nullish(),
  phone: z.string().nullish(),
  gst_number: z.string().nullish(),
  tax_id: z.string().nullish(),
});

/** A row of `counter_party_details` (DECISIONS.md, F11). */
export const CounterPartyDetails = z.object({
  is_individual: z.boolean(),
  organization_type: z.string().nullish().describe("Exact label configured in the workspace"),
  organization_name: z.string().min(1).nullish().describe("Required unless is_individual"),
  poc_details: PocDetails,
  organization_details: z
    .object({
      jurisdiction: z.string().nullish(),
      jurisdiction_iso_code: z.string().nullish().describe("A jurisdiction configured in the workspace"),
      address: Address.nullish(),
    })
    .nullish(),
  party_role_identifier: z.string().nullish().describe(`Role among several parties; ${noEffectNote}`),
});

/** A row of `signatories` (DECISIONS.md, F11). */
export const SignatoryDetails = z.object({
  name: z.string().min(1),
  email,
  is_counterparty_signatory: z.boolean(),
  title: z.string().nullish(),
  counterparty_name: z.string().nullish().describe("Required for a signatory of the counterparty"),
  sign_order: z.int().min(1).nullish().describe("Set on all signatories or on none"),
  note: z.string().nullish(),
});

/** Metadata of the upstream system; `id` is the key of later look-ups. */
export const ExternalMetadataIn = z.object({
  id: z.string().min(1).optional().describe("The upstream system's record id"),
  integration_name: z.string().optional(),
  record_type: z.string().optional(),
  record_data: dictionary(z.unknown()).optional().describe("Free-form"),
  object_configuration_id: z.uuid().optional().describe("Requires record_type"),
});

/** What a contract tells of the counterparties that are new by it, before it tells of itself (DECISIONS.md, C8). */
export const counterpartyActivities = [
  "COUNTER_PARTY_CREATED",
  "COUNTER_PARTY_CONTACT_CREATED",
  "COUNTER_PARTY_ADDRESS_CREATED",
] as const;

import type * as z from "zod";
import type { Activity } from "../../src/api/activities.ts";
import type { ContractFacts as declared } from "../../src/api/contracts/shapes/webhook-payloads.ts";
import { isoMicros } from "../../src/base/clock.ts";

/** What a payload says of a contract; built by the cluster from its rows. */
export type ContractFacts = Readonly<z.infer<typeof declared>>;

export interface Person {
  readonly name: string;
  readonly email?: string;
}

/** The performer of what the service does by itself. */
export const SYSTEM: Person = { name: "SYSTEM" };

/** Something that happened in a workspace, to be told to its subscriptions. */
export interface Occurrence {
  readonly workspace_id: number;
  readonly activity: Activity;
  /** Virtual milliseconds. */
  readonly at: number;
  readonly performed_by: Person;
  /** Absent: an activity of a counterparty that has no contract yet (DECISIONS.md, C17). */
  readonly contract?: ContractFacts | undefined;
  /** Further keys of `activity_data`. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** Other values for fields of the finished body. */
  readonly amend?: ((body: object) => object) | undefined;
}

/** The body of an event: compact JSON in the order of keys of DECISIONS.md, F21, times in microseconds. */
export function eventBody(occurrence: Occurrence): string {
  const body = eventDocument(occurrence);
  return JSON.stringify(occurrence.amend ? occurrence.amend(body) : body);
}

function eventDocument({ activity, at, performed_by, contract, data }: Occurrence): object {
  return {
    activity,
    activity_data: { performed_by: person(performed_by), timestamp: isoMicros(at), ...data },
    ...(contract && {
      contract_id: contract.contract_id,
      contract_title: contract.contract_title,
      contract_type: contract.contract_type,
      contract_type_name: contract.contract_type_name,
      contract_type_id: contract.contract_type_id,
      contract_status: contract.contract_status,
      contract_kind: contract.contract_kind,
      business_user: person(contract.business_user),
      legal_user: contract.legal_user && person(contract.legal_user),
      created_at: contract.created_at,
      counterparties: contract.counterparties,
      external_metadata: contract.external_metadata,
      entity: contract.entity,
      contract_reference_id: contract.contract_reference_id,
      contract_template_id: contract.contract_template_id,
    }),
  };
}

const person = ({ name, email }: Person): Person => ({ name, ...(email !== undefined && { email }) });

import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import type { setKeyPointers } from "../../../src/api/contracts/key-pointers.ts";
import type { InputOf } from "../../../src/api/operation.ts";
import { type ContractType, contractTypes, IntakeQuestion } from "../../domain/workspaces.ts";
import { defineRows, type Transaction, type View } from "../../store/port.ts";
import type { AuthenticatedMember, ClusterContext, ClusterHandlers } from "../context.ts";
import { requireVisibleContract } from "../contracts/access.ts";
import { emitContractEvent, toPerformer } from "../contracts/records.ts";
import { type Contract, requireContract } from "../contracts/rows.ts";
import { ProblemCollector } from "../response.ts";
import { findContractType, formatRowNotFound } from "../workspace/workspace-rows.ts";
import { validateAnswers } from "./answers.ts";

import { toAttributeRecord } from "./templates.ts";

const KeyPointer = z.strictObject({
  id: z.int(),
  contract_id: z.int(),
  field_name: z.string(),
  label: z.string(),
  data_type: z.string(),
  /** Any JSON value except null. */
  value: z.unknown(),
});
type KeyPointer = z.infer<typeof KeyPointer>;

/** Data that is recorded on a contract in addition to its text. */
export const keyPointers = defineRows<KeyPointer, "contract">({
  name: "key_pointers",
  schema: KeyPointer,
  key: (row) => row.id,
  numbers: { key_pointer: (row) => row.id },
  indexes: { contract: (row) => row.contract_id },
});

export const keyPointerHandlers = {
  "key-pointers.definitions": ({ query }, { store, caller, fail }) =>
    store.read(async (view) => {
      const problems = new ProblemCollector();
      const type = await findContractType(view, caller.workspace, query.contract_type_id, problems);
      if (!type) return fail("invalid-fields", problems.found);
      return buildSections(type).map(({ section, descriptors }) => ({
        id: section.id,
        descriptors: descriptors.map(toAttributeRecord),
        section,
      }));
    }),

  "key-pointers.list": (input, { store, caller, fail }) =>
    store.read(async (view) => {
      const contract = await requireVisibleContract(view, caller, input, fail);
      return (await listKeyPointers(view, contract)).map(toKeyPointerRecord);
    }),

  "key-pointers.set": ({ params, body }, context) =>
    context.store.transaction("key-pointers.set", async (tx) => {
      const contract = await requireContract(tx, context.caller, params.composite_id, context.fail);
      const type = await getContractType(tx, contract);
      const known = await listKeyPointers(tx, contract);
      const wanted = body.key_pointers.map((row) => matchInput(row, type, known));
      const problems = wanted.flatMap((match, index) => ("problem" in match ? [[index, match.problem]] : []));
      if (problems.length > 0) context.fail("invalid-fields", { key_pointers: Object.fromEntries(problems) });

      const written = new Map<string, KeyPointer>(known.map((row) => [row.field_name, row]));
      const touched = new Set<string>();
      for (const match of wanted) {
        if ("problem" in match) continue;
        const { field_name } = match.target;
        const before = written.get(field_name);
        const row: KeyPointer = {
          ...match.target,
          id: before?.id ?? tx.next("key_pointer"),
          contract_id: contract.id,
          value: match.value,
        };
        touched.add(field_name);
        if (before && isDeepStrictEqual(row, before)) continue;
        tx.put(keyPointers, row);
        written.set(field_name, row);
        const activity = `CONTRACT_KEY_POINTER_${before ? "UPDATION" : "CREATION"}` as const;
        await emitPointerEvent(tx, context, activity, contract, row);
      }
      return [...touched].map((name) => toKeyPointerRecord(written.get(name)!));
    }),

  "key-pointers.update": ({ params, body }, context) =>
    context.store.transaction("key-pointers.update", async (tx) => {
      const contract = await requireContract(tx, context.caller, params.composite_id, context.fail);
      const known = await listKeyPointers(tx, contract);
      const before = known.find(({ id }) => id === params.key_pointer_id) ?? context.fail("not-found");
      const value = body.value ?? null;
      const problem = findProblem(before.field_name, value, await getContractType(tx, contract));
      if (problem) context.fail("invalid-fields", { value: problem });
      const row = { ...before, value };
      if (isDeepStrictEqual(row, before)) return toKeyPointerRecord(row);
      tx.put(keyPointers, row);
      await emitPointerEvent(tx, context, "CONTRACT_KEY_POINTER_UPDATION", contract, row);
      return toKeyPointerRecord(row);
    }),
} satisfies ClusterHandlers;

const listKeyPointers = (view: View, { id }: Contract) => view.list(keyPointers, { by: "contract", equals: id });

async function getContractType(view: View, contract: Contract): Promise<ContractType> {
  const type = await view.get(contractTypes, contract.contract_type_id);
  if (!type) throw new Error(`Contract ${contract.id} is of type ${contract.contract_type_id}, which does not exist`);
  return type;
}

const toKeyPointerRecord = ({ id, value, label, field_name, data_type }: KeyPointer) => ({
  id,
  value,
  label,
  field_name,
  data_type,
  format_option: {},
});

type PointerInput = InputOf<typeof setKeyPointers>["body"]["key_pointers"][number];
type PointerMatch =
  | { readonly target: Pick<KeyPointer, "field_name" | "label" | "data_type">; readonly value: unknown }
  | { readonly problem: Readonly<Record<string, readonly string[]>> };

function matchInput(given: PointerInput, type: ContractType, known: readonly KeyPointer[]): PointerMatch {
  const { key_pointer_id, key_pointer_field_name } = given;
  const value = given.value ?? null;
  if (key_pointer_id !== undefined) {
    const row = known.find(({ id }) => id === key_pointer_id);
    if (!row) return { problem: { key_pointer_id: [formatRowNotFound(key_pointer_id)] } };
    const problem = findProblem(row.field_name, value, type);
    return problem ? { problem: { value: problem } } : { target: row, value };
  }
  if (key_pointer_field_name === undefined) return { problem: { key_pointer_id: ["Field required"] } };

  const definition = findKeyPointer(type, key_pointer_field_name);
  if (!definition) return { problem: { key_pointer_field_name: [formatRowNotFound(key_pointer_field_name)] } };
  const problem = findProblem(key_pointer_field_name, value, type);
  if (problem) return { problem: { value: problem } };
  const { variable, display_label, type: data_type } = definition;
  return { target: { field_name: variable, label: display_label, data_type }, value };
}

function findProblem(fieldName: string, value: unknown, type: ContractType): readonly string[] | undefined {
  const definition = findKeyPointer(type, fieldName);
  if (!definition || value === null) return undefined;
  return validateAnswers([{ ...definition, required: false }], { [fieldName]: value })?.[fieldName];
}

const emitPointerEvent = (
  tx: Transaction,
  { clock, caller }: Pick<ClusterContext, "clock"> & { readonly caller: AuthenticatedMember },
  activity: "CONTRACT_KEY_POINTER_CREATION" | "CONTRACT_KEY_POINTER_UPDATION",
  contract: Contract,
  { id, field_name, value }: KeyPointer,
): Promise<void> =>
  emitContractEvent(tx, { clock, by: toPerformer(caller) }, activity, contract, {
    key_pointer: { id, field_name, value },
  });

/** Key pointers of every contract type. They are assumed, because those of the real service are not public. */
const commonKeyPointers: readonly IntakeQuestion[] = (
  [
    ["effective_date", "Effective date", "date"],
    ["expiry_date", "Expiry date", "date"],
    ["contract_value", "Contract value", "float"],
    ["governing_law", "Governing law", "string"],
    ["auto_renewal", "Renews by itself", "boolean"],
    ["notice_period", "Notice period", "int"],
  ] as const
).map(([variable, display_label, type]) => IntakeQuestion.parse({ variable, display_label, type, required: false }));

interface KeyPointerSection {
  readonly id: number;
  readonly section_type: "SYSTEM_DEFINED" | "USER_DEFINED";
  readonly name: string;
}

/**
 * Returns the fields that can be recorded on contracts of a type: the common key pointers and the questions of the
 * intake form.
 */
const buildSections = (
  type: ContractType,
): readonly { readonly section: KeyPointerSection; readonly descriptors: readonly IntakeQuestion[] }[] => [
  { section: { id: 1, section_type: "SYSTEM_DEFINED", name: "Key terms" }, descriptors: commonKeyPointers },
  {
    section: { id: 2, section_type: "USER_DEFINED", name: "Intake form" },
    descriptors: type.intake_form.filter(
      ({ variable }) => !commonKeyPointers.some((common) => common.variable === variable),
    ),
  },
];

/** Returns the definition of a field name, or undefined if contracts of the type do not have such a key pointer. */
const findKeyPointer = (type: ContractType, fieldName: string): IntakeQuestion | undefined =>
  buildSections(type)
    .flatMap(({ descriptors }) => descriptors)
    .find(({ variable }) => variable === fieldName);

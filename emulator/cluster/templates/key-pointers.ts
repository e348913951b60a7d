import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import type { setKeyPointers } from "../../../src/api/contracts/key-pointers.ts";
import type { InputOf } from "../../../src/api/operation.ts";
import { type ContractType, contractTypes, IntakeQuestion } from "../../domain/workspaces.ts";
import { ProblemCollector } from "../../http/dialects/field-problems.ts";
import { inTransaction } from "../../http/handler.ts";
import { defineNumberedRows, type Transaction, type View } from "../../store/port.ts";
import type { CallerContext, ClusterHandlers } from "../context.ts";
import { requireVisibleContract } from "../contracts/access.ts";
import { emitContractEvent, toPerformer } from "../contracts/records.ts";
import { type Contract, requireContract } from "../contracts/rows.ts";
import { findNamedContractType, formatRowNotFound } from "../workspace/workspace-rows.ts";
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
export const keyPointers = defineNumberedRows("key_pointers", "key_pointer", KeyPointer, {
  contract: (row) => row.contract_id,
});

export const keyPointerHandlers = {
  "key-pointers.definitions": ({ query }, { store, caller, fail }) => {
    const problems = new ProblemCollector();
    const type = findNamedContractType(store, caller.workspace, query.contract_type_id, problems);
    if (!type) return fail("invalid-fields", problems.fields);
    return buildSections(type).map(({ section, descriptors }) => ({
      id: section.id,
      descriptors: descriptors.map(toAttributeRecord),
      section,
    }));
  },

  "key-pointers.list": (input, { store, caller, fail }) => {
    const contract = requireVisibleContract(store, caller, input, fail);
    return listKeyPointers(store, contract).map(toKeyPointerRecord);
  },

  "key-pointers.set": inTransaction((tx, { params, body }, context) => {
    const contract = requireContract(tx, context.caller, params.composite_id, context.fail);
    const type = getContractType(tx, contract);
    const existing = listKeyPointers(tx, contract);
    const problems = new ProblemCollector();
    const targets = body.key_pointers.map((row, index) => {
      const target = findTarget(row, type, existing);
      if ("problem" in target) problems.addAll(["key_pointers", index], target.problem);
      return target as PointerTarget;
    });
    if (problems.fields) context.fail("invalid-fields", problems.fields);

    const rowsByField = new Map<string, KeyPointer>(existing.map((row) => [row.field_name, row]));
    for (const target of targets) {
      const { field_name } = target;
      const previous = rowsByField.get(field_name);
      const row = { ...target, id: previous?.id ?? tx.next("key_pointer"), contract_id: contract.id };
      if (previous && isDeepStrictEqual(row, previous)) continue;
      tx.put(keyPointers, row);
      rowsByField.set(field_name, row);
      const activity = `CONTRACT_KEY_POINTER_${previous ? "UPDATION" : "CREATION"}` as const;
      emitPointerEvent(tx, context, activity, contract, row);
    }
    return [...new Set(targets.map(({ field_name }) => field_name))].map((name) =>
      toKeyPointerRecord(rowsByField.get(name)!),
    );
  }),

  "key-pointers.update": inTransaction((tx, { params, body }, context) => {
    const contract = requireContract(tx, context.caller, params.composite_id, context.fail);
    const existing = listKeyPointers(tx, contract);
    const previous = existing.find(({ id }) => id === params.key_pointer_id) ?? context.fail("not-found");
    const value = body.value ?? null;
    const problem = findProblem(previous.field_name, value, getContractType(tx, contract));
    if (problem) context.fail("invalid-fields", { value: problem });
    const row = { ...previous, value };
    if (isDeepStrictEqual(row, previous)) return toKeyPointerRecord(row);
    tx.put(keyPointers, row);
    emitPointerEvent(tx, context, "CONTRACT_KEY_POINTER_UPDATION", contract, row);
    return toKeyPointerRecord(row);
  }),
} satisfies ClusterHandlers;

const listKeyPointers = (view: View, { id }: Contract) => view.list(keyPointers, { by: "contract", equals: id });

function getContractType(view: View, contract: Contract): ContractType {
  const type = view.get(contractTypes, contract.contract_type_id);
  if (!type) throw new Error(`Contract ${contract.id} is of type ${contract.contract_type_id}, which does not exist`);
  return type;
}

const toKeyPointerRecord = ({ contract_id: _, ...row }: KeyPointer) => ({ ...row, format_option: {} });

type PointerInput = InputOf<typeof setKeyPointers>["body"]["key_pointers"][number];
type PointerTarget = Pick<KeyPointer, "field_name" | "label" | "data_type" | "value">;
type PointerProblem = { readonly problem: Readonly<Record<string, readonly string[]>> };

function findTarget(
  { key_pointer_id: id, key_pointer_field_name: name, value = null }: PointerInput,
  type: ContractType,
  existing: readonly KeyPointer[],
): PointerTarget | PointerProblem {
  if (id === undefined && name === undefined) return { problem: { key_pointer_id: ["Field required"] } };
  const row = existing.find((each) => each.id === id);
  if (id !== undefined && !row) return { problem: { key_pointer_id: [formatRowNotFound(id)] } };
  const definition = row ? undefined : findKeyPointer(type, name!);
  if (!row && !definition) return { problem: { key_pointer_field_name: [formatRowNotFound(name)] } };
  const target = row ?? {
    field_name: definition!.variable,
    label: definition!.display_label,
    data_type: definition!.type,
  };
  const problem = findProblem(target.field_name, value, type);
  return problem ? { problem: { value: problem } } : { ...target, value };
}

function findProblem(fieldName: string, value: unknown, type: ContractType): readonly string[] | undefined {
  const definition = findKeyPointer(type, fieldName);
  if (!definition || value === null) return undefined;
  return validateAnswers([{ ...definition, required: false }], { [fieldName]: value })?.[fieldName];
}

const emitPointerEvent = (
  tx: Transaction,
  { clock, caller }: CallerContext,
  activity: "CONTRACT_KEY_POINTER_CREATION" | "CONTRACT_KEY_POINTER_UPDATION",
  contract: Contract,
  { id, field_name, value }: KeyPointer,
): void =>
  emitContractEvent(tx, { clock, performer: toPerformer(caller) }, activity, contract, {
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

/** The common key pointers precede the questions of the intake form. */
function buildSections({ intake_form }: ContractType) {
  const commonNames = commonKeyPointers.map(({ variable }) => variable);
  const formPointers = intake_form.filter(({ variable }) => !commonNames.includes(variable));
  return [
    { section: { id: 1, section_type: "SYSTEM_DEFINED", name: "Key terms" }, descriptors: commonKeyPointers },
    { section: { id: 2, section_type: "USER_DEFINED", name: "Intake form" }, descriptors: formPointers },
  ] as const;
}

const findKeyPointer = (type: ContractType, fieldName: string): IntakeQuestion | undefined =>
  buildSections(type)
    .flatMap(({ descriptors }) => descriptors)
    .find(({ variable }) => variable === fieldName);

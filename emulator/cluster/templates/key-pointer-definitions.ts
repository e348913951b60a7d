import { type ContractType, Question } from "../../world/workspaces.ts";

/** The key pointers that every contract type has. Which ones the real service has is not public; these are ours. */
const system: readonly Question[] = (
  [
    ["effective_date", "Effective date", "date"],
    ["expiry_date", "Expiry date", "date"],
    ["contract_value", "Contract value", "float"],
    ["governing_law", "Governing law", "string"],
    ["auto_renewal", "Renews by itself", "boolean"],
    ["notice_period", "Notice period", "int"],
  ] as const
).map(([variable, display_label, type]) => Question.parse({ variable, display_label, type, required: false }));

interface Section {
  readonly id: number;
  readonly section_type: "SYSTEM_DEFINED" | "USER_DEFINED";
  readonly name: string;
}

/** What can be recorded on contracts of a type: the common key pointers and the questions of its intake form. */
export const keyPointerSections = (
  type: ContractType,
): readonly { readonly section: Section; readonly descriptors: readonly Question[] }[] => [
  { section: { id: 1, section_type: "SYSTEM_DEFINED", name: "Key terms" }, descriptors: system },
  {
    section: { id: 2, section_type: "USER_DEFINED", name: "Intake form" },
    descriptors: type.intake_form.filter(({ variable }) => !system.some((common) => common.variable === variable)),
  },
];

/** The definition of a field name; undefined when contracts of the type have no such key pointer. */
export const keyPointerNamed = (type: ContractType, fieldName: string): Question | undefined =>
  keyPointerSections(type)
    .flatMap(({ descriptors }) => descriptors)
    .find(({ variable }) => variable === fieldName);

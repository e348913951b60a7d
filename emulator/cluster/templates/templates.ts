import type * as z from "zod";
import type { Attribute } from "../../../src/api/contracts/shapes.ts";
import type { listTemplates } from "../../../src/api/contracts/templates.ts";
import type { InputOf } from "../../../src/api/operation.ts";
import {
  type ContractTemplate,
  contractTypes,
  entities,
  type IntakeQuestion,
  type LegalEntity,
  templates,
  type Workspace,
} from "../../domain/workspaces.ts";
import { inTransaction } from "../../http/handler.ts";
import type { ClusterHandlers } from "../context.ts";
import { requireOwnRow } from "../workspace/workspace-rows.ts";

export const templateHandlers = {
  "templates.list": ({ query }, { store, caller }) => {
    const all = store.list(templates, { by: "workspace", equals: caller.workspace.id });
    return { items: all.filter((row) => matchesTemplateQuery(row, query)).map(toTemplateRecord) };
  },

  "templates.show": ({ params }, { store, caller, fail }) =>
    toTemplateRecord(requireOwnRow(store, templates, caller, params.template_id, fail)),

  "templates.update": inTransaction((tx, { params, body }, { caller, fail }) => {
    const row = requireOwnRow(tx, templates, caller, params.template_id, fail);
    const after = { ...row, tags: [...new Set(body.tags ?? row.tags)] };
    tx.put(templates, after);
    return toTemplateRecord(after);
  }),

  "templates.metadata": ({ params }, { store, caller, fail }) => {
    const { attributes, counter_party_kind } = requireOwnRow(store, templates, caller, params.template_id, fail);
    return { attributes: attributes.map(toAttributeRecord), counter_party_kind };
  },

  "contract-types.list": (_, { store, caller }) => {
    const all = store.list(contractTypes, { by: "workspace", equals: caller.workspace.id });
    return all.map(({ id, name }) => ({ id, name }));
  },

  // In an emulated workspace, every entity can sign contracts of every type.
  "contract-types.entities": ({ params }, { store, caller, fail }) => {
    requireOwnRow(store, contractTypes, caller, params.contract_type_id, fail);
    const all = store.list(entities, { by: "workspace", equals: caller.workspace.id });
    return all.map((entity) => ({
      entity_id: entity.id,
      entity_name: entity.name,
      entity_type: entity.type,
      jurisdiction_of_incorporation: entity.jurisdiction,
      ...(entity.address && { address: entity.address }),
      is_primary: entity.is_primary,
    }));
  },

  "contract-types.intake-form": ({ params }, { store, caller, fail }) => {
    const { intake_form } = requireOwnRow(store, contractTypes, caller, params.contract_type_id, fail);
    return intake_form.map(toAttributeRecord);
  },

  "organizations.entities": (_, { store, caller: { workspace } }) => {
    const all = store.list(entities, { by: "workspace", equals: workspace.id });
    return all.map((entity) => toEntityRecord(entity, workspace));
  },

  "organizations.types": ({ query }, { caller: { workspace }, fail }) => {
    const code = query.jurisdiction_iso_code;
    const jurisdiction = code === undefined ? undefined : findJurisdiction(workspace, code);
    if (code !== undefined && !jurisdiction) return fail("unknown-jurisdiction", { code });
    return (
      workspace.organization_types
        // A type without a jurisdiction applies to every jurisdiction.
        .filter(
          (type) =>
            !jurisdiction ||
            type.jurisdiction === undefined ||
            findJurisdiction(workspace, type.jurisdiction) === jurisdiction,
        )
        .map(({ id, name, jurisdiction }) => ({
          id,
          name,
          ...(jurisdiction !== undefined && { jurisdiction: toJurisdictionRecord(workspace, jurisdiction) }),
        }))
    );
  },
} satisfies ClusterHandlers;

const toTemplateRecord = ({ id, name, contract_type_id, tags }: ContractTemplate) => {
  return { id, name, contract_type_id, tags };
};

// Every emulated template has two parties, so exclude_multi_party excludes none.
function matchesTemplateQuery(
  row: ContractTemplate,
  { tags, tags_all, cp_types, cp_types_all, include_archived }: InputOf<typeof listTemplates>["query"],
): boolean {
  const tagSet = new Set(row.tags);
  const has = (tag: string) => tagSet.has(tag);
  const acceptsKind = (kind: string) => row.counter_party_kind === "Both" || row.counter_party_kind === kind;
  return (
    (include_archived || !row.archived) &&
    (!tags?.length || tags.some(has)) &&
    (!tags_all?.length || tags_all.every(has)) &&
    (!cp_types?.length || (cp_types_all ? cp_types.every(acceptsKind) : cp_types.some(acceptsKind)))
  );
}

export const toAttributeRecord = (question: IntakeQuestion): z.input<typeof Attribute> => ({
  display_label: question.display_label,
  variable: question.variable,
  type: question.type,
  ...(question.help_text !== undefined && { help_text: question.help_text }),
  ...(question.options && { options: question.options }),
  required: question.required,
  ...(question.default_value !== undefined && { default_value: question.default_value }),
});

function toEntityRecord(entity: LegalEntity, workspace: Workspace) {
  const { id, name, reference_id, is_primary, address } = entity;
  const type = workspace.organization_types.find((each) => each.name === entity.type);
  return {
    id,
    name,
    reference_id,
    jurisdiction: toJurisdictionRecord(workspace, entity.jurisdiction),
    organization_type: { id: type?.id ?? unlistedId, name: entity.type },
    ...(address && {
      primary_address: {
        // An entity of the seed has one address, so the address has the entity's ID.
        id,
        line_one: address.line_one,
        city_name: address.city,
        state_name: address.state,
        zipcode: address.zipcode,
        country: toJurisdictionRecord(workspace, address.country),
      },
    }),
    is_primary,
  };
}

/** The ID of a label that a seed uses without defining it. */
const unlistedId = 0;

/** Finds a jurisdiction by code or name, because seeds use both. */
const findJurisdiction = ({ jurisdictions }: Workspace, text: string) =>
  jurisdictions.find(({ name, iso_code }) => name === text || iso_code === text.toUpperCase());

function toJurisdictionRecord(workspace: Workspace, text: string) {
  const jurisdiction = findJurisdiction(workspace, text);
  return jurisdiction
    ? { id: jurisdiction.id, name: jurisdiction.name, code2: jurisdiction.iso_code }
    : { id: unlistedId, name: text };
}

import { entities, type LegalEntity, type Workspace } from "../../domain/workspaces.ts";
import { inView } from "../../http/handler.ts";
import type { ClusterHandlers } from "../context.ts";

export const organizationHandlers = {
  "organizations.entities": inView(async (view, _, { caller: { workspace } }) => {
    const all = await view.list(entities, { by: "workspace", equals: workspace.id });
    return all.map((entity) => toEntityRecord(entity, workspace));
  }),

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

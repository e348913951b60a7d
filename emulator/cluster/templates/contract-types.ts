import type { Fail } from "../../../src/api/failures.ts";
import type { View } from "../../store/port.ts";
import { type ContractType, contractTypes, entities } from "../../world/workspaces.ts";
import type { ClusterHandlers, Member } from "../world.ts";
import { attributeRecord } from "./templates.ts";

export const contractTypeHandlers = {
  "contract-types.list": (_, { store, caller }) =>
    store.read(async (view) => {
      const all = await view.list(contractTypes, { by: "workspace", equals: caller.workspace.id });
      return all.map(({ id, name }) => ({ id, name }));
    }),

  // An emulated workspace lets each of its entities sign each type.
  "contract-types.entities": ({ params }, { store, caller, fail }) =>
    store.read(async (view) => {
      await requireContractType(view, caller, params.contract_type_id, fail);
      const all = await view.list(entities, { by: "workspace", equals: caller.workspace.id });
      return all.map((entity) => ({
        entity_id: entity.id,
        entity_name: entity.name,
        entity_type: entity.type,
        jurisdiction_of_incorporation: entity.jurisdiction,
        ...(entity.address && { address: entity.address }),
        is_primary: entity.is_primary,
      }));
    }),

  "contract-types.intake-form": ({ params }, { store, caller, fail }) =>
    store.read(async (view) => {
      const { intake_form } = await requireContractType(view, caller, params.contract_type_id, fail);
      return intake_form.map(attributeRecord);
    }),
} satisfies ClusterHandlers;

async function requireContractType(
  view: View,
  { workspace }: Member,
  id: number,
  fail: Fail<"not-found">,
): Promise<ContractType> {
  const row = await view.get(contractTypes, id);
  return row?.workspace_id === workspace.id ? row : fail("not-found");
}

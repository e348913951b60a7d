import demo from "../../fixtures/seeds/demo.json" with { type: "json" };
import type { StandardSet } from "../cluster/workspace/standard-set.ts";
import { parseSeed } from "./state/seed.ts";

let made: StandardSet | undefined;

/** What a new workspace begins with: that of the first workspace of the demo seed, whatever seed is in use. */
export function standardSet(): StandardSet {
  made ??= setOfDemo();
  return made;
}

function setOfDemo(): StandardSet {
  const { workspaces, roles, contract_types, templates, workflows } = parseSeed(demo);
  const { id, organization_types, jurisdictions } = workspaces[0]!;
  const own = <Row extends { readonly workspace_id: number }>(rows: readonly Row[]): Row[] =>
    rows.filter(({ workspace_id }) => workspace_id === id);
  return {
    organization_types,
    jurisdictions,
    roles: own(roles),
    contract_types: own(contract_types),
    templates: own(templates),
    workflows: own(workflows),
  };
}

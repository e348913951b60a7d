import { callOperation } from "../api/call.ts";
import { useLoaded } from "../state/act.ts";
import { navigate, replacePart, route } from "../state/route.ts";

/** Reports whether a row belongs to the workspace in the address, if there is one. */
export function isInWorkspace(id: number | null): boolean {
  const selectedId = route.value.query.get("workspace");
  return selectedId === null || String(id) === selectedId;
}

export const useWorkspaces = () =>
  useLoaded("workspaces", ["contracts"], () => callOperation("emulator.workspaces")).value;

/** Returns a function that names a workspace, by its ID as long as its name is unknown. */
export function useWorkspaceNames(): (id: number | null | undefined) => string {
  const all = useWorkspaces();
  return (id) => all?.find((one) => one.id === id)?.name ?? String(id ?? "–");
}

/** Limits a list to one workspace. Hidden if there is only one and no limit. */
export function WorkspaceFilter() {
  const all = useWorkspaces();
  const selectedId = route.value.query.get("workspace") ?? "";
  if (all === undefined || (all.length < 2 && selectedId === "")) return null;
  return (
    <select
      aria-label="Workspace"
      value={selectedId}
      onChange={({ currentTarget }) => navigate(replacePart({ workspace: currentTarget.value || undefined }))}
    >
      <option value="">All workspaces</option>
      {all.map(({ id, name }) => (
        <option key={id} value={String(id)}>
          {name}
        </option>
      ))}
      {selectedId !== "" && all.every(({ id }) => String(id) !== selectedId) && (
        <option value={selectedId}>workspace {selectedId} (not found)</option>
      )}
    </select>
  );
}

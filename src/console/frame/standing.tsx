import { role } from "../api/session.ts";
import { standing } from "../state/standing.ts";

/** Which process leads and which one this page came from, where several share a store; nothing where none do. */
export function Standing() {
  const read = standing.value;
  if (read?.role === undefined) return null;
  return (
    <p class="standing muted">
      {read.role === "leader" ? "This process leads" : "This process stands by"}
      {read.role === "standby" && (read.leader ? ` for ${read.leader}` : "; no process leads now")}
    </p>
  );
}

/** Why buttons are off, for who may not press them all; nothing for an admin. */
export function Role() {
  if (role.value === undefined || role.value === "admin") return null;
  return <p class="standing muted">Your token has the role {role.value}: what takes more is off, and says which.</p>;
}

import { standing } from "../state/standing.ts";

/** Which process leads and which one this page came from, where several share a store; nothing where none do. */
export function Standing() {
  const read = standing.value;
  if (read?.role === undefined) return null;
  return (
    <p class="standing muted">
      {read.role === "leader" ? "This process leads" : "This process follows"}
      {read.role === "follower" && (read.leader ? ` ${read.leader}` : "; nobody leads now")}
    </p>
  );
}

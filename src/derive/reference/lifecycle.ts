import {
  conditions,
  emailDeliveryActivities,
  type ForbiddenMove,
  lifecycle,
  type Move,
  requirements,
} from "../../api/contracts/lifecycle.ts";
import { lookupTable } from "../../base/lookup-table.ts";
import { blocks, codes, renderMarkdownTable } from "./markdown.ts";

/** The states of a contract as a diagram, and every move as a row. */
export const lifecycleSection = (): string =>
  blocks(
    "## Lifecycle of a contract",
    "Other transitions are rejected.",
    ["```mermaid", "stateDiagram-v2", ...arrows(), "```"],
    renderMarkdownTable(
      ["Trigger", "From", "When", "Needs", "To", "Emits", "One virtual minute later"],
      moves.map((move) => [
        move.trigger,
        move.from.join(", "),
        "when" in move && move.when !== undefined ? conditions[move.when] : "",
        "requires" in move
          ? (move.requires ?? []).map((need) => `${need} (else ${requirements[need]})`).join(", ")
          : "",
        "refusedAs" in move ? `rejected: ${move.refusedAs}` : (ends[move.to] ?? move.to),
        "emits" in move ? codes(move.emits) : "",
        "sends" in move && move.sends ? codes(emailDeliveryActivities[move.sends]) : "",
      ]),
    ),
  );

const moves: readonly (Move | ForbiddenMove)[] = lifecycle;

const ends = lookupTable<string>({ "=": "(stays)", held: "(the status before the hold)" });

function arrows(): string[] {
  const lines = moves.flatMap((move) => {
    if ("refusedAs" in move || move.to === "=") return [];
    // Where a hold leads back to is one of many; the diagram shows the way out alone.
    const to = move.to === "held" ? "REDLINING" : node(move.to);
    return move.from.map((from) => `    ${node(from)} --> ${to}: ${move.trigger}`);
  });
  return [...new Set(lines)];
}

const node = (state: string): string => (state === "(new)" || state === "(deleted)" ? "[*]" : state);

import type { Possible } from "./lifecycle-graph.ts";

/** What comes of the moves of one trigger, the first that fits: `becomes DRAFT, if made from a template; else is gone`. */
export function resultsOf(moves: readonly Possible[]): string {
  const found: { readonly result: string; readonly when: (string | undefined)[] }[] = [];
  for (const move of moves) {
    const result = resultOf(move);
    const last = found.at(-1);
    if (last?.result === result) last.when.push(move.when);
    else found.push({ result, when: [move.when] });
  }
  return found.map(({ result, when }) => `${result}${conditionOf(when)}`).join("; else ");
}

/** Where one comes without a condition, those before it that come to the same need none. */
const conditionOf = (when: readonly (string | undefined)[]): string =>
  when.includes(undefined) ? "" : `, if ${when.join(", or if ")}`;

function resultOf({ trigger, to, isAutomatic }: Possible): string {
  const result =
    to === "="
      ? "which changes no state"
      : to === "held"
        ? "goes back to where it was"
        : to === "(deleted)"
          ? "is gone"
          : `becomes ${to}`;
  const cause = trigger === "all-signed" ? "with the last signature" : "when a signed version is uploaded";
  return `${result}${isAutomatic ? `, ${cause}` : ""}`;
}

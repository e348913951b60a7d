import { useEffect, useRef } from "preact/hooks";
import {
  type ContractStatus,
  conditions,
  lifecycleRows,
  type Move,
  type Trigger,
  triggers,
} from "../../api/contracts/lifecycle.ts";
import { groupBy } from "../../base/object.ts";

/** The center of each state. The transitions come from the declared table. */
const positions = new Map<Stage, readonly [number, number]>([
  ["(new)", [40, 110]],
  ["DRAFT", [170, 110]],
  ["REDLINING", [350, 110]],
  ["SIGN", [530, 110]],
  ["EXECUTED", [710, 110]],
  ["ON_HOLD", [350, 222]],
  ["VOIDED", [710, 222]],
]);

const pictureWidth = 780;
const box = { width: 112, height: 36 };

/** Draws the lifecycle, with the current state and its transitions. */
export function LifecyclePicture({ status }: { readonly status: ContractStatus }) {
  const out = new Set(lifecycleEdges.filter(({ from }) => from === status).map(({ to }) => to));
  const words = out.size === 0 ? "This status is final." : `Next: ${[...out].join(", ")}.`;
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    // On a narrow page the picture scrolls, so that the current state is visible.
    const [element, [x]] = [section.current!, positions.get(status)!];
    element.scrollLeft = (x / pictureWidth) * element.scrollWidth - element.clientWidth / 2;
  }, [status]);
  const edges = [...lifecycleEdges].sort((a, b) => Number(a.from === status) - Number(b.from === status));
  return (
    <section
      class="lifecycle"
      aria-label="Lifecycle of the contract"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable element must be reachable by keyboard.
      tabIndex={0}
      ref={section}
    >
      <svg viewBox={`0 0 ${pictureWidth} 262`} role="img" aria-label={`Status: ${status}. ${words}`}>
        <defs>
          {["plain", "out"].map((kind) => (
            <marker
              key={kind}
              id={`arrow-${kind}`}
              class={kind}
              viewBox="0 0 8 8"
              refX="7"
              refY="4"
              markerWidth="7"
              markerHeight="7"
              orient="auto-start-reverse"
            >
              <path d="M0 0.8L7.4 4 0 7.2z" />
            </marker>
          ))}
        </defs>
        {edges.map(({ from, to, triggers }) => (
          <path
            key={`${from} ${to}`}
            class={`edge ${from === status ? "out" : "plain"}`}
            d={drawCurve(from, to)}
            marker-end={`url(#arrow-${from === status ? "out" : "plain"})`}
          >
            <title>{`${from} to ${to}: ${triggers.join(", ")}`}</title>
          </path>
        ))}
        {[...positions].map(([place, [x, y]]) =>
          place === "(new)" ? (
            <circle key={place} class="begin" cx={x} cy={y} r="7" />
          ) : (
            <g key={place} class={`place ${place === status ? "present" : out.has(place) ? "next" : ""}`}>
              <rect x={x - box.width / 2} y={y - box.height / 2} width={box.width} height={box.height} rx="8" />
              <text x={x} y={y + 5}>
                {place.replace("_", " ")}
              </text>
            </g>
          ),
        )}
      </svg>
    </section>
  );
}

/** Draws a transition: forward lines straight or above, backward lines below, so that they do not overlap. */
function drawCurve(from: Stage, to: Stage): string {
  const [x1, y1] = positions.get(from)!;
  const [x2, y2] = positions.get(to)!;
  const half = box.height / 2;
  const side = box.width / 2;
  if (y1 === y2) {
    const distance = Math.abs(x2 - x1);
    if (x2 > x1 && distance < 200) return `M${x1 + (from === "(new)" ? 8 : side)} ${y1}H${x2 - side - 2}`;
    // Arcs start and end off the center of a box, so that they do not overlap.
    const height = 16 + distance * 0.11;
    if (x2 > x1) {
      const begin = from === "(new)" ? [x1, y1 - 8] : [x1 + 14, y1 - half];
      return `M${begin[0]} ${begin[1]}C${x1 + 30} ${y1 - half - height} ${x2 - 40} ${y1 - half - height} ${x2 - 16 - distance * 0.02} ${y2 - half - 2}`;
    }
    return `M${x1 - 22} ${y1 + half}C${x1 - 40} ${y1 + half + height * 0.8} ${x2 + 50} ${y1 + half + height * 0.8} ${x2 + 26} ${y2 + half + 2}`;
  }
  const shift = y2 > y1 ? 8 : -8;
  if (x1 === x2) return `M${x1 + shift} ${y1 + Math.sign(y2 - y1) * half}V${y2 - Math.sign(y2 - y1) * (half + 2)}`;
  if (y1 > y2 || from === "ON_HOLD" || to === "ON_HOLD") {
    const sign = Math.sign(x2 - x1);
    return y2 > y1
      ? `M${x1 + shift} ${y1 + half}C${x1 + shift} ${y2 - 30} ${x2 - sign * 90} ${y2} ${x2 - sign * (side + 2)} ${y2 - 4}`
      : `M${x1 + sign * side} ${y1 + 6}C${x1 + sign * 110} ${y1} ${x2 + shift} ${y1 - 26} ${x2 + shift} ${y2 + half + 2}`;
  }
  return `M${x1 + 24} ${y1 + half}C${x1 + 60} ${y2 - 34} ${x2 - 160} ${y2 - 8} ${x2 - side - 2} ${y2 - 6}`;
}

/** A state in the picture; contracts start in `(new)`. */
type Stage = ContractStatus | "(new)";

const moves = lifecycleRows.filter((row): row is Move => "to" in row);

const holdableStatuses: readonly ContractStatus[] = moves.flatMap(({ trigger, from }) =>
  trigger === "hold" ? from.filter((place) => place !== "(new)") : [],
);

/** Lists the targets of a transition: several for a resume, none if the status stays or the contract is deleted. */
const canLead = ({ to }: Move): readonly ContractStatus[] =>
  to === "held" ? holdableStatuses : to === "=" || to === "(deleted)" ? [] : [to];

const edges = moves.flatMap((move) =>
  move.from.flatMap((from) => canLead(move).map((to) => ({ from, to, trigger: move.trigger }))),
);

/** Every transition between two states, from the declared table. */
export const lifecycleEdges = [...groupBy(edges, ({ from, to }) => `${from} ${to}`).values()].map((same) => ({
  from: same[0]!.from,
  to: same[0]!.to,
  triggers: [...new Set(same.map(({ trigger }) => trigger))],
}));

export type PossibleMove = ReturnType<typeof findPossibleMoves>[number];

/** Lists the transitions from a contract's state in words, in the order of the table. */
export const findPossibleMoves = (status: ContractStatus) =>
  moves
    .filter(({ from }) => from.includes(status))
    .map(({ trigger, to, when, by }) => ({
      trigger,
      label: triggers[trigger],
      to,
      when: when === undefined ? undefined : conditions[when],
      isAutomatic: by === "SYSTEM",
    }));

export const canMove = (status: ContractStatus, trigger: Trigger): boolean =>
  moves.some((move) => move.trigger === trigger && move.from.includes(status));

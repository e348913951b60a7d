import type { Action } from "./actions.ts";
import type { Links } from "./links.ts";

/** Whether these requests alone lead to the same. */
type Holds = (actions: readonly Action[]) => Promise<boolean>;

/**
 * The requests that matter: none of them can be left out. First those that the last one depends on by what they made,
 * if that is enough; else halves, quarters and so on are left out, as in delta debugging. Undefined: not even all of them do.
 */
export async function shrink(
  actions: readonly Action[],
  essential: readonly Action[],
  links: Links,
  holds: Holds,
): Promise<readonly Action[] | undefined> {
  const slice = sliceOf(actions, essential, links);
  const begin = slice.length < actions.length && (await holds(slice)) ? slice : actions;
  if (begin === actions && !(await holds(actions))) return undefined;
  return leaveOutEach(await leaveOutParts(begin, essential, holds), essential, holds);
}

/** What the essential ones name, what those name, and all that was done to the same things. */
function sliceOf(actions: readonly Action[], essential: readonly Action[], links: Links): readonly Action[] {
  const wanted = new Set(essential.map(({ id }) => id));
  for (let size = -1; size !== wanted.size; ) {
    size = wanted.size;
    for (const { id } of actions) {
      const named = [...(links.get(id)?.values() ?? [])].map(({ from }) => from);
      if (wanted.has(id)) for (const from of named) wanted.add(from);
      else if (named.some((from) => wanted.has(from))) wanted.add(id);
    }
  }
  // A fault names nothing that was made, and acts on what comes later.
  return actions.filter(({ id, operation }) => wanted.has(id) || operation.id === "faults.add");
}

async function leaveOutParts(
  actions: readonly Action[],
  essential: readonly Action[],
  holds: Holds,
): Promise<readonly Action[]> {
  let left = actions;
  for (let size = Math.ceil(left.length / 2); size > 1; size = Math.ceil(size / 2)) {
    for (let from = left.length - size; from > -size; from -= size) {
      const start = Math.max(0, from);
      const rest = left.filter((one, i) => i < start || i >= from + size || essential.includes(one));
      if (rest.length < left.length && (await holds(rest))) left = rest;
    }
  }
  return left;
}

async function leaveOutEach(
  actions: readonly Action[],
  essential: readonly Action[],
  holds: Holds,
): Promise<readonly Action[]> {
  let left = actions;
  for (const one of [...actions].reverse()) {
    if (essential.includes(one)) continue;
    const rest = left.filter((other) => other !== one);
    if (await holds(rest)) left = rest;
  }
  return left;
}

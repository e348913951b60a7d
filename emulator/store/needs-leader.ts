/** What was asked of a copy of the state only the process that leads can do. Nothing was done. */
export class NeedsLeader extends Error {
  override readonly name = "NeedsLeader";
}

/** Stands for a part of the world that only the process that leads has: whoever touches it needs that one. */
export const leadersOwn = <Part extends object>(): Part =>
  new Proxy(Object.freeze({}), {
    get() {
      throw new NeedsLeader();
    },
  }) as Part;

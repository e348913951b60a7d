import type { Wall } from "../../../src/base/clock.ts";
import { LiveStore } from "../live/live-store.ts";
import { State } from "../live/state.ts";
import type { Collection, Store } from "../port.ts";

/** A store that forgets everything when it is closed (`--ephemeral`, tests). */
export const openMemoryStore = (options: { readonly collections: readonly Collection[]; readonly wall: Wall }): Store =>
  new LiveStore({ state: new State(options.collections), wall: options.wall });

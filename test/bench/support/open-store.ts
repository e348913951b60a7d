/** A process that opens the store of a file and exits: `open-store FILE ROWS`. It fails if the store has fewer rows. */
import { openFileStore } from "../../../emulator/store/file/file-store.ts";
import { systemWallClock } from "../../../src/base/clock.ts";
import { collections, owners } from "../../support/store.ts";

const [, , path = "", rows] = process.argv;
const store = await openFileStore({ path, collections, wall: systemWallClock });
process.exit(store.size(owners) < Number(rows) ? 1 : 0);

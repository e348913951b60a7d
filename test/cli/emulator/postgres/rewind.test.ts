import { describeInPostgres } from "../../../support/postgres/each-store.ts";
import { testRewindCommand } from "../rewinds.ts";

describeInPostgres("svc emulator rewind", testRewindCommand);

import { describeInPostgres } from "../../../support/postgres/each-store.ts";
import { testRejectedRewind, testRewind } from "../rewinds.ts";

describeInPostgres("rewind", testRewind);
describeInPostgres("rejected rewind that changes nothing", testRejectedRewind);

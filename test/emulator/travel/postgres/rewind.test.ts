import { describeInPostgres } from "../../../support/postgres/each-store.ts";
import { testRejectedRewind, testRewind } from "../rewinds.ts";

describeInPostgres("rewind", testRewind);
describeInPostgres("what a rewind is refused for, while nothing is changed", testRejectedRewind);

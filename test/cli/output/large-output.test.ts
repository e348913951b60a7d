import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runCli } from "../../support/cli/run-cli.ts";

/** The maximum size of a single write to a terminal. */
const pieceBytes = 16 * 1024;

describe("large response on a terminal", () => {
  it("is written in chunks so thon Ctrl-C works in between", async () => {
    let turns = 0;
    let next: NodeJS.Immediate;
    const turn = () => {
      turns += 1;
      next = setImmediate(turn);
    };
    turn();
    const writes: { readonly end: number; readonly turn: number }[] = [];
    const onOutput = (all: string) => void writes.push({ end: Buffer.byteLength(all), turn: turns });
    const { exit, stdout } = await runCli("openapi contracts", { tty: true, onOutput });
    clearImmediate(next!);
    assert.equal(exit, 0);
    assert.equal(JSON.parse(stdout).openapi, "3.1.0");
    const sizes = writes.map(({ end }, i) => end - (writes[i - 1]?.end ?? 0));
    assert.ok(sizes.length > 5 && Math.max(...sizes) <= pieceBytes, `${sizes}`);
    assert.equal(new Set(writes.map((one) => one.turn)).size, writes.length);
  });

  it("is not indented if the indentation makes it longer than the longest string", async () => {
    const depth = 980;
    const list = `[${"0,".repeat(280_000)}0]`;
    const data = `{"deep":${"[".repeat(depth)}${list}${"]".repeat(depth)}}`;
    const stdin = `{"contract_template_id":101,"contract_data":${data},"counter_party_details":[]}`;
    const { exit, stdout } = await runCli("contracts create --data - --dry-run --emulator --json", { stdin });
    assert.deepEqual([exit, stdout.includes(`"contract_data":${data},`)], [0, true], stdout.slice(0, 500));
  });
});

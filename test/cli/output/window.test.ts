import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { stripVTControlCharacters } from "node:util";
import width from "fast-string-width";
import { cutTo } from "../../../src/cli/output/text.ts";
import { cliEmulator } from "../../support/cli/cli-emulator.ts";

/** Two webhooks with a long address each, one of them with wide characters in its title. */
async function stage(t: Parameters<typeof cliEmulator>[0]) {
  const world = await cliEmulator(t);
  for (const [title, path] of [
    ["契約の通知を受け取る係", "contracts/events/of/every/kind"],
    ["Plain", "x"],
  ]) {
    const argv = ["webhooks", "create", "--title", title!, "--url", `http://127.0.0.1:9/${path}`];
    assert.equal((await world.svc([...argv, "--only-for-activities", "CONTRACT_CREATED"])).exit, 0);
  }
  const show = async (columns: number, more = "", env = {}) =>
    world.svc(`emulator webhooks ${more}`, { tty: true, columns, env: { NO_COLOR: "1", ...env } });
  return { ...world, show };
}

describe("a window that nobody knows the width of", () => {
  it("is as wide as COLUMNS says, on a terminal and in a pipe; a terminal that knows better comes first", async (t) => {
    const { show, svc } = await stage(t);
    const known = await show(60);
    assert.deepEqual(await show(0, "", { COLUMNS: "60" }), known);
    assert.deepEqual(await show(60, "", { COLUMNS: "200" }), known);
    assert.deepEqual(await svc("emulator webhooks --format table", { env: { COLUMNS: "60" } }), known);
    const whole = await svc("emulator webhooks --format table");
    for (const odd of ["0", "wide", "-60"]) {
      assert.deepEqual(await svc("emulator webhooks --format table", { env: { COLUMNS: odd } }), whole, odd);
    }
  });
});

describe("a table on a terminal", () => {
  it("shows where webhooks lead before all that they are told of", async (t) => {
    const { svc } = await stage(t);
    const { out } = await svc("webhooks list", { tty: true, columns: 80, env: { NO_COLOR: "1" } });
    assert.equal(
      out,
      [
        "ID  WORKSPA…  TITLE                   STATUS  FAILURE COUNT  URL        ONLY FO…",
        ' 1  Northwi…  契約の通知を受け取る係  ACTIVE              0  http://1…  ["CONTR…',
        ' 2  Northwi…  Plain                   ACTIVE              0  http://1…  ["CONTR…',
        "",
      ].join("\n"),
    );
  });

  it("fits the window: cut by priority, wide characters as two, numbers right, what is left out told", async (t) => {
    const { show } = await stage(t);
    const at = Object.fromEntries(
      await Promise.all([120, 80, 60].map(async (columns) => [columns, await show(columns)] as const)),
    );
    assert.deepEqual(at[80], {
      exit: 0,
      out: [
        "ID  WORKSPACE      TITLE                   STATUS  FAILURE COUNT  URL",
        " 1  Northwind Le…  契約の通知を受け取る係  ACTIVE              0  http://127.0.…",
        " 2  Northwind Le…  Plain                   ACTIVE              0  http://127.0.…",
        "",
      ].join("\n"),
      err: "",
    });
    assert.deepEqual(at[60], {
      exit: 0,
      out: [
        "ID  WORKSPA…  TITLE          STATUS  FAILURE COUNT  URL",
        " 1  Northwi…  契約の通知を…  ACTIVE              0  http://…",
        " 2  Northwi…  Plain          ACTIVE              0  http://…",
        "",
      ].join("\n"),
      err: "",
    });
    assert.equal(at[120]!.out.includes("…"), false);
    for (const [columns, { out }] of Object.entries(at)) {
      for (const line of out.split("\n")) assert.equal(width(line) <= Number(columns), true, line);
    }
    const narrow = await show(40);
    assert.deepEqual(narrow.err, "Too narrow for FAILURE COUNT, URL:\n  --wide shows all\n");
  });

  it("is whole under --wide and in a pipe, and keeps every column that was asked for", async (t) => {
    const { show, svc } = await stage(t);
    assert.equal((await show(60, "--wide")).out.includes("contracts/events/of/every/kind"), true);
    assert.equal((await svc("emulator webhooks")).out.includes("…"), false);
    const { out } = await show(24, "--fields id,url,status,title");
    assert.deepEqual(out.split("\n")[0]?.split(/ +/), ["ID", "URL", "STAT…", "TITLE"]);
    for (const line of out.split("\n")) assert.equal(width(line) <= 24, true, line);
  });

  it("shows states in colour, and only there", async (t) => {
    const { show } = await stage(t);
    const { out } = await show(80, "", { NO_COLOR: "", FORCE_COLOR: "1" });
    assert.equal(out.includes("\u001b[32mACTIVE\u001b[39m"), true);
    assert.equal(stripVTControlCharacters(out), (await show(80)).out);
  });
});

it("a text is cut between characters, never within one", () => {
  assert.deepEqual(
    ["abcdef", "契約契約", "e\u0301e\u0301e\u0301e\u0301", "👩‍👩‍👧‍👦👩‍👩‍👧‍👦x", "abc"].map((text) => cutTo(text, 3)),
    ["ab…", "契…", "e\u0301e\u0301…", "👩‍👩‍👧‍👦…", "abc"],
  );
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { stripVTControlCharacters } from "node:util";
import width from "fast-string-width";
import { measureWidth } from "../../../src/cli/output/styled.ts";
import { truncateText } from "../../../src/cli/output/table.ts";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { ndaContractJson } from "../../support/cli/nda.ts";
import { measureCostRatio } from "../../support/cost-ratio.ts";

/** Two webhooks with long URLs, one of them with wide characters in its title. */
async function startWithWideTitles(t: Parameters<typeof startCliEmulator>[0]) {
  const emulator = await startCliEmulator(t);
  for (const [title, path] of [
    ["契約の通知を受け取る係", "contracts/events/of/every/kind"],
    ["Plain", "x"],
  ]) {
    const argv = ["webhooks", "create", "--title", title!, "--url", `http://127.0.0.1:9/${path}`];
    assert.equal((await emulator.svc([...argv, "--only-for-activities", "CONTRACT_CREATED"])).exit, 0);
  }
  const show = async (columns: number, more = "", env = {}) =>
    emulator.svc(`emulator webhooks ${more}`, { tty: true, columns, env: { NO_COLOR: "1", ...env } });
  return { ...emulator, show };
}

describe("window of unknown width", () => {
  it("adopts the width of COLUMNS unless the terminal reports its width", async (t) => {
    const { show, svc } = await startWithWideTitles(t);
    const reference = await show(64);
    assert.deepEqual(await show(0, "", { COLUMNS: "64" }), reference);
    assert.deepEqual(await show(64, "", { COLUMNS: "200" }), reference);
    assert.deepEqual(await svc("emulator webhooks --format table", { env: { COLUMNS: "64" } }), reference);
    const result = await svc("emulator webhooks --format table");
    for (const columns of ["0", "wide", "-64"]) {
      assert.deepEqual(await svc("emulator webhooks --format table", { env: { COLUMNS: columns } }), result, columns);
    }
  });
});

describe("table on a terminal", () => {
  it("shows the essential columns first and gives free space to truncated columns", async (t) => {
    const { svc } = await startCliEmulator(t, { clock: { mode: "manual", start: "2031-01-02T03:04:05.678Z" } });
    const webhook = [
      "webhooks",
      "create",
      "--title",
      "App",
      "--url",
      "http://127.0.0.1:9/contracts/events/of/every/kind",
    ];
    await svc([...webhook, "--only-for-activities", "CONTRACT_CREATED"]);
    await svc("contracts create --data -", { stdin: ndaContractJson });
    const renderAt = async (columns: number, line: string) => {
      const { stdout, stderr } = await svc(line, { tty: true, columns, env: { NO_COLOR: "1" } });
      return [...stdout.split("\n"), ...stderr.split("\n")].filter((text) => text !== "" && !text.startsWith("Using "));
    };
    assert.deepEqual(await renderAt(80, "webhooks schedule"), [
      "AT                    DELIVERY  REASON",
      "2031-01-02T03:09:05Z         1  5 minutes after failed attempt 1 (connection_re…",
      "Hidden columns: WEBHOOK ID, ACTIVITY, COMPOSITE ID, ATTEMPT. Shortened columns:",
      "  REASON. To show all: --wide",
    ]);
    assert.deepEqual(await renderAt(40, "webhooks schedule"), [
      "AT                    REASON",
      "2031-01-02T03:09:05Z  5 minutes after f…",
      "Hidden columns: DELIVERY, WEBHOOK ID,",
      "  ACTIVITY, COMPOSITE ID, ATTEMPT.",
      "  Shortened columns: REASON. To show",
      "  all: --wide",
    ]);
    assert.deepEqual(await renderAt(80, "webhooks deliveries"), [
      "ID  WEBHOOK ID  ACTIVITY          COMPOSITE ID  STATUS TEXT  LAST RESPONSE",
      " 1           1  CONTRACT_CREATED  T-1           retrying     connection_refused",
      "Hidden columns: WEBHOOK STATUS, NEXT ATTEMPT AT. To show all: --wide",
    ]);
    assert.deepEqual(await renderAt(40, "emulator webhooks"), [
      "ID  WORKSPACE        TITLE  STATUS",
      " 1  Northwind Legal  App    ACTIVE",
      "    URL  http://127.0.0.1:9/contracts/events/of/every/kind",
      "Hidden columns: FAILURE COUNT. To show",
      "  all: --wide",
    ]);
    assert.deepEqual(await renderAt(80, "emulator requests --service contracts"), [
      "ID  AT                    LISTENER  METHOD  TARGET                       STATUS",
      " 1  2031-01-02T03:04:05Z  eu-1      POST    /api/v2.1/public/webhooks/      201",
      " 2  2031-01-02T03:04:05Z  eu-1      POST    /api/v2.1/public/contracts/     201",
      "Hidden columns: OPERATION. To show all: --wide",
    ]);
    assert.deepEqual(await renderAt(40, "emulator requests --service contracts"), [
      "ID  AT                    METHOD  STATUS",
      " 1  2031-01-02T03:04:05Z  POST       201",
      "    TARGET  /api/v2.1/public/webhooks/",
      " 2  2031-01-02T03:04:05Z  POST       201",
      "    TARGET  /api/v2.1/public/contracts/",
      "Hidden columns: LISTENER, OPERATION. To",
      "  show all: --wide",
    ]);
    assert.deepEqual((await renderAt(24, "emulator requests --service contracts")).slice(0, 4), [
      "ID  LISTENER  STATUS",
      " 1  eu-1         201",
      "    TARGET",
      "      /api/v2.1/public/webhooks/",
    ]);
    await svc("emulator webhooks disable 1");
    assert.deepEqual(await renderAt(80, "webhooks trigger CONTRACT_CREATED"), [
      "DELIVERY  WEBHOOK ID  RESPONSE                         STATUS TEXT",
      "       2           1  DISABLED_BY_USER: nothing was …  skipped: webhook disabled",
      "          URL  http://127.0.0.1:9/contracts/events/of/every/kind",
      "Shortened columns: RESPONSE. To show all: --wide",
    ]);
    assert.deepEqual(await renderAt(40, "webhooks trigger CONTRACT_CREATED"), [
      "DELIVERY  RESPONSE    STATUS TEXT",
      "       3  DISABLED_…  skipped: webhook …",
      "          URL",
      "            http://127.0.0.1:9/contracts/events/of/every/kind",
      "Hidden columns: WEBHOOK ID. Shortened",
      "  columns: RESPONSE, STATUS TEXT. To",
      "  show all: --wide",
    ]);
  });

  it("shows the URLs of webhooks before their statistics", async (t) => {
    const { svc } = await startWithWideTitles(t);
    const { stdout } = await svc("webhooks list", { tty: true, columns: 80, env: { NO_COLOR: "1" } });
    assert.equal(
      stdout,
      [
        "ID  WORKSPACE        TITLE                   STATUS  FAILURE COUNT",
        " 1  Northwind Legal  契約の通知を受け取る係  ACTIVE              0",
        "    URL  http://127.0.0.1:9/contracts/events/of/every/kind",
        " 2  Northwind Legal  Plain                   ACTIVE              0",
        "    URL  http://127.0.0.1:9/x",
        "",
      ].join("\n"),
    );
  });

  it("fits the window by priority, aligns numbers right and reports omissions", async (t) => {
    const { show } = await startWithWideTitles(t);
    const at = Object.fromEntries(
      await Promise.all([120, 80, 60].map(async (columns) => [columns, await show(columns)] as const)),
    );
    assert.deepEqual(at[80], {
      exit: 0,
      stdout: [
        "ID  WORKSPACE        TITLE                   STATUS  FAILURE COUNT",
        " 1  Northwind Legal  契約の通知を受け取る係  ACTIVE              0",
        "    URL  http://127.0.0.1:9/contracts/events/of/every/kind",
        " 2  Northwind Legal  Plain                   ACTIVE              0",
        "    URL  http://127.0.0.1:9/x",
        "",
      ].join("\n"),
      stderr: "",
    });
    assert.deepEqual(at[60], {
      exit: 0,
      stdout: [
        "ID  WORKSPACE  TITLE                   STATUS  FAILURE COUNT",
        " 1  Northwin…  契約の通知を受け取る係  ACTIVE              0",
        "    URL  http://127.0.0.1:9/contracts/events/of/every/kind",
        " 2  Northwin…  Plain                   ACTIVE              0",
        "    URL  http://127.0.0.1:9/x",
        "",
      ].join("\n"),
      stderr: "Shortened columns: WORKSPACE. To show all: --wide\n",
    });
    assert.equal(at[120]!.stdout.includes("…"), false);
    for (const [columns, { stdout }] of Object.entries(at)) {
      for (const line of stdout.split("\n")) assert.equal(width(line) <= Number(columns), true, line);
    }
    const narrow = await show(40);
    assert.deepEqual(
      narrow.stderr,
      "Hidden columns: FAILURE COUNT. Shortened\n  columns: WORKSPACE, TITLE. To show\n  all: --wide\n",
    );
  });

  it("is complete with --wide and in a pipe, with every requested column", async (t) => {
    const { show, svc } = await startWithWideTitles(t);
    assert.equal((await show(60, "--wide")).stdout.includes("contracts/events/of/every/kind"), true);
    assert.equal((await svc("emulator webhooks")).stdout.includes("…"), false);
    assert.equal(
      (await show(63, "--fields id,url,title")).stdout.split("\n")[1],
      " 1  http://127.0.0.1:9/contracts/events/of/every/kind  契約の…",
    );
    const { stdout } = await show(24, "--fields id,url,status,title");
    assert.deepEqual(stdout.split("\n").slice(0, 4), [
      "ID  STATUS  TITLE",
      " 1  ACTIVE  契約の通知…",
      "    URL",
      "      http://127.0.0.1:9/contracts/events/of/every/kind",
    ]);
  });

  it("colors only states", async (t) => {
    const { show } = await startWithWideTitles(t);
    const { stdout } = await show(80, "", { NO_COLOR: "", FORCE_COLOR: "1" });
    assert.equal(stdout.includes("\u001b[32mACTIVE\u001b[39m"), true);
    assert.equal(stripVTControlCharacters(stdout), (await show(80)).stdout);
  });
});

it("truncateText takes little longer than measuring the string", async () => {
  const text = "😀".repeat(20_000);
  const cut = () => truncateText(text, 30, "middle");
  const times = await measureCostRatio(cut, () => measureWidth(text), 10);
  assert.ok(times < 10, `${times} times as long`);
});

it("truncateText cuts a string between characters", () => {
  assert.deepEqual(
    ["abcdef", "契約契約", "e\u0301e\u0301e\u0301e\u0301", "👩‍👩‍👧‍👦👩‍👩‍👧‍👦x", "abc"].map((text) =>
      truncateText(text, 3),
    ),
    ["ab…", "契…", "e\u0301e\u0301…", "👩‍👩‍👧‍👦…", "abc"],
  );
  assert.deepEqual(
    [truncateText("abcdef", 4, "start"), truncateText("abcdefg", 4, "middle"), truncateText("契約契約", 6, "start")],
    ["…def", "ab…g", "…契約"],
  );
});

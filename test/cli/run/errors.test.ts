import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { getProgramPath } from "../../support/program.ts";
import { contract, runStory } from "./story.ts";

const hint = "  svc run --schema prints the JSON Schema of scenario files.\n";

/** Invalid stories and their error messages. */
const invalidStories: readonly (readonly [story: string, sentence: string])[] = [
  ["steps: []", "1:8: steps must be a list with at least one step."],
  ["name: x", "1:1: steps is required."],
  ["- a", "1:1: A scenario must be a map with steps."],
  [`name: ${"x".repeat(999_994)}`, "1:1: steps is required."],
  [`name: ${"x".repeat(999_995)}`, "1:1: A scenario must have at most 1000000 characters."],
  ["step: [{ advance: next }]", '1:1: Unknown key "step". Did you mean steps?'],
  ["steps: [{ advance: next }]\nsteps: []", "2:1: The file is not YAML: Map keys must be unique."],
  [
    "steps: [{ advance: next }]\n---\nsteps: []",
    "2:1: A file must have one scenario; put the next one in another file.",
  ],
  ['steps: [{ advance: "next }]', '1:28: The file is not YAML: Missing closing "quote.'],
  ["steps: [next]", "1:9: A step must be a map with one of call, svc, advance, as, fault, receiver, for each, expect."],
  [
    "steps: [{ call: contracts.list }, { save: { id: results } }]",
    "1:35: A step must have one of call, svc, advance, as, fault, receiver, for each, expect.",
  ],
  ["steps: [{ advanc: next }]", '1:11: Unknown key "advanc" of a step. Did you mean advance?'],
  [
    "steps:\n  - wait: 5s",
    '2:5: Unknown key "wait" of a step. A step has one of call, svc, advance, as, fault, receiver, for each, expect.',
  ],
  ["steps: [{ advance: next, svc: x }]", "1:26: advance cannot be used with svc in one step."],
  [
    "steps: [{ advance: soon }]",
    '1:20: advance must be a duration (30s, PT2H35M), a time (2031-01-02T03:04:05Z), next or idle, got "soon".',
  ],
  ["steps: [{ advance: 5 }]", "1:20: advance must be a text, got 5."],
  ["steps: [{ call: contracts.creat }]", '1:17: Unknown operation "contracts.creat". Did you mean contracts.create?'],
  ["steps: [{ call: contracts.send }]", "1:9: params.composite_id is required by contracts.send."],
  [
    "steps: [{ call: contracts.send, params: { composite: T-1 } }]",
    '1:43: Unknown key "composite" in params of contracts.send. Known: composite_id.',
  ],
  ["steps: [{ call: no.such }]", '1:17: Unknown operation "no.such". svc openapi lists the operations.'],
  ['steps: [{ svc: "a \'b" }]', "1:16: svc has a quote that is not closed."],
  [
    "steps: [{ as: next, sign: $contrct }]",
    "1:27: $contrct is not saved by an earlier step. Known: client_id, cluster_id, contracts_url, router_url.",
  ],
  [
    "steps:\n  - { svc: x, save: contract }\n  - { as: next, sign: $contrct }",
    "3:23: $contrct is not saved by an earlier step. Did you mean contract?",
  ],
  ["steps: [{ as: next }]", "1:9: The step must have one of sign, decline and approve."],
  ["steps: [{ fault: { direction: up } }]", '1:31: fault.direction cannot be "up". Known: incoming, outgoing.'],
  [
    "steps: [{ fault: { direction: outgoing, efect: drop } }]",
    '1:41: Unknown key "efect" in fault. Did you mean effect?',
  ],
  [
    "steps: [{ fault: { direction: outgoing, effect: dropp } }]",
    '1:49: fault.effect cannot be "dropp". Did you mean drop?',
  ],
  ["steps: [{ receiver: my app }]", '1:21: receiver must be a name (letters, digits and _), got "my app".'],
  [
    "steps: [{ receiver: app, subscribe: [CONTRACT_SIGND] }]",
    '1:38: subscribe.0 cannot be "CONTRACT_SIGND". Did you mean CONTRACT_SIGNED?',
  ],
  ["steps: [{ receiver: app, responses: [down, 200] }]", '1:38: responses.0 must be a number, got "down".'],
  ["steps: [{ receiver: app, responses: up }]", '1:37: responses must be a number or down or a list, got "up".'],
  ["steps: [{ advance: next, expect: { stats: 200 } }]", '1:36: Unknown key "stats" in expect. Did you mean status?'],
  ["steps: [{ expect: { status: 99 } }]", "1:29: expect.status must be at least 100."],
  [
    "steps: [{ expect: { deliveries: [{ to: ap }] } }]",
    '1:40: No earlier step opens the receiver "ap". There are none.',
  ],
  [
    "steps:\n  - receiver: app\n  - expect: { webhooks: { apps: ACTIVE } }",
    '3:27: No earlier step opens the receiver "apps". Did you mean app?',
  ],
  [
    "steps: [{ for each: { a: [1], b: [2] }, steps: [{ advance: next }] }]",
    "1:21: for each must have one name with its list.",
  ],
  ["steps: [{ for each: { a: [1] } }]", "1:9: steps is required in a step with for each."],
  [
    "steps:\n  - for each: { a: [1] }\n    steps: [{ advanc: next }]",
    '3:15: Unknown key "advanc" of a step. Did you mean advance?',
  ],
  [
    "start: 2031-01-02T03:04:05\nsteps: [{ advance: next }]",
    '1:8: start must be a time (2031-01-02T03:04:05Z), got "2031-01-02T03:04:05".',
  ],
  [
    "steps: [{ advance: 2031-02-30T00:00:00Z }]",
    '1:20: advance must be a duration (30s, PT2H35M), a time (2031-01-02T03:04:05Z), next or idle, got "2031-02-30T00:00:00Z".',
  ],
  ["start: tomorrow\nsteps: [{ advance: next }]", '1:8: start must be a time (2031-01-02T03:04:05Z), got "tomorrow".'],
  [
    "files: { ../x: y }\nsteps: [{ advance: next }]",
    '1:10: The name "../x" must be the name of a file, without a folder.',
  ],
  ["steps: [{ advance: !other next }]", "1:20: The file is not YAML: Unresolved tag: !other."],
  [
    "a: &a [x, x, x, x]\nsteps: *b",
    "2:8: The file is not YAML: Unresolved alias (the anchor must be set before the alias): b.",
  ],
  ["steps: &a\n  - { for each: { n: [1] }, steps: *a }", "2:36: The file is not YAML: The alias a contains itself."],
  [
    "steps: [{ call: contracts.list, query: { limit: -9007199254740993 } }]",
    "1:49: -9007199254740993 cannot be represented exactly. To keep its digits, use a command line in a step with svc.",
  ],
  ...["0xffffffffffffffff", "1e400", ".inf", ".nan"].map(
    (number) =>
      [
        `steps: [{ call: contracts.list, query: { limit: ${number} } }]`,
        `1:49: ${number} cannot be represented exactly. To keep its digits, use a command line in a step with svc.`,
      ] as const,
  ),
  ...["007", "-0791234567", "00.5"].map(
    (number) =>
      [
        `steps: [{ svc: [contracts, status, ${number}] }]`,
        `1:36: ${number} would lose its leading zeros. Put it in quotes.`,
      ] as const,
  ),
];

describe("svc run with invalid files", () => {
  it("reports an error in one sentence with its position and the closest word", async (t) => {
    const cwd = await createTestFolder(t);
    const printedErrors: (readonly [string, string])[] = [];
    for (const [story] of invalidStories) {
      await writeFile(join(cwd, "story.yaml"), story);
      const { exit, stdout, stderr } = await runCli("run story.yaml", { cwd });
      printedErrors.push([
        story,
        exit === 2 && stdout === "" ? stderr.replace(hint, "").trimEnd() : `${exit} ${stdout}${stderr}`,
      ]);
    }
    assert.deepEqual(
      printedErrors,
      invalidStories.map(([story, sentence]) => [story, `error: story.yaml:${sentence}`]),
    );
  });

  it("reports all problems of a file at once, in order", async (t) => {
    const { exit, stdout, stderr } = await runStory(
      t,
      `nam: Two contracts
strat: now
steps:
  - { call: contracts.creat, save: contract }
  - call: contracts.send
    params: { composite_id: $contract, composit: 1, x: 2 }
  - { fault: { direction: outgoing, effect: dropp, count: none } }
  - for each: { page: [1] }
    steps:
      - { svc: contracts list --page $pag }
      - next
  - { advance: soon }
  - { svc: emulator stop }
  - { expect: { status: 99, activities: [CONTRACT_SIGND] } }
`,
    );
    assert.deepEqual(
      [exit, stdout, stderr.split("\n")],
      [
        2,
        "",
        [
          'error: story.yaml:1:1: Unknown key "nam". Did you mean name?',
          '  - story.yaml:2:1: Unknown key "strat". Did you mean start?',
          '  - story.yaml:4:13: Unknown operation "contracts.creat". Did you mean contracts.create?',
          '  - story.yaml:6:40: Unknown key "composit" in params of contracts.send. Known: composite_id.',
          '  - story.yaml:6:53: Unknown key "x" in params of contracts.send. Known: composite_id.',
          '  - story.yaml:7:45: fault.effect cannot be "dropp". Did you mean drop?',
          '  - story.yaml:7:59: fault.count must be a number, got "none".',
          "  - story.yaml:10:16: $pag is not saved by an earlier step. Did you mean page?",
          "  - story.yaml:11:9: A step must be a map with one of call, svc, advance, as, fault, receiver, for each, expect.",
          '  - story.yaml:12:16: advance must be a duration (30s, PT2H35M), a time (2031-01-02T03:04:05Z), next or idle, got "soon".',
          "  - story.yaml:13:12: svc emulator stop cannot be run by a scenario. It ends an emulator that a state file names.",
          "  - story.yaml:14:25: expect.status must be at least 100.",
          '  - story.yaml:14:42: expect.activities.0 cannot be "CONTRACT_SIGND". Did you mean CONTRACT_SIGNED?',
          hint.trimEnd(),
          "",
        ],
      ],
    );
  });

  it("reports each forbidden command line of a file", async (t) => {
    const { exit, stderr } = await runStory(t, "steps:\n  - svc: emulator stop\n  - svc: webhooks trigger X --edit\n");
    assert.deepEqual(
      [exit, stderr],
      [
        2,
        "error: story.yaml:2:10: svc emulator stop cannot be run by a scenario. It ends an emulator that a state file names.\n" +
          `  - story.yaml:3:10: --edit cannot be used in a scenario. It starts an editor.\n${hint}`,
      ],
    );
  });

  it("runs no scenario if one of several files is invalid and names each invalid file", async (t) => {
    const { exit, stdout, stderr } = await runStory(
      t,
      "steps: [{ advance: PT1H }]",
      ["other.yaml", "empty.yaml", "third.yaml"],
      { "other.yaml": "steps: []", "empty.yaml": "", "third.yaml": "steps: 5" },
    );
    assert.deepEqual(
      [exit, stdout, stderr],
      [
        2,
        "",
        `error: other.yaml:1:8: steps must be a list with at least one step.\n  - empty.yaml:1:1: <file> is empty.\n  - third.yaml:1:8: steps must be a list with at least one step.\n${hint}`,
      ],
    );
  });

  it("rejects a file in another encoding, which --update would damage", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "story.yaml"), "# caf\xe9\nsteps: [{ advance: next }]\n", "latin1");
    const { exit, stderr } = await runCli("run story.yaml", { cwd });
    assert.deepEqual([exit, stderr], [2, "error: <file>: story.yaml is not encoded as UTF-8\n  See svc run --help.\n"]);
  });

  it("names an unreadable file or seed, also with other invalid files", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "empty.yaml"), "");
    const several = await runCli("run nowhere.yaml empty.yaml", { cwd });
    assert.deepEqual(
      [several.exit, several.stderr],
      [
        2,
        "error: <file>: cannot read nowhere.yaml: no such file\n  - empty.yaml:1:1: <file> is empty.\n  See svc run --help.\n",
      ],
    );
    const { exit, stderr } = await runCli("run nowhere.yaml", { cwd });
    assert.deepEqual(
      [exit, stderr],
      [2, "error: <file>: cannot read nowhere.yaml: no such file\n  See svc run --help.\n"],
    );
    const seed = await runStory(t, "seed: seeds.json\nsteps: [{ advance: next }]");
    assert.deepEqual(
      [seed.exit, seed.stderr],
      [
        2,
        "error: story.yaml:1:7: seed seeds.json cannot be read: it must be demo, empty, or a file next to the scenario.\n  svc emulator seed-schema prints the JSON Schema of seeds.\n",
      ],
    );
  });

  it("reports a seed that cannot be read before any file runs", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "good.yaml"), "steps: [{ advance: PT1H }]");
    await writeFile(join(cwd, "story.yaml"), "seed: seed.json\nsteps: [{ advance: PT1H }]");
    await writeFile(join(cwd, "seed.json"), "{");
    for (const jobs of ["1", "2"]) {
      const { exit, stdout, stderr } = await runCli(["run", "good.yaml", "story.yaml", "--jobs", jobs], { cwd });
      const message =
        "error: story.yaml:1:7: seed seed.json is not JSON.\n  svc emulator seed-schema prints the JSON Schema of seeds.\n";
      assert.deepEqual([exit, stdout, stderr], [2, "", message]);
    }
  });

  it("ends if the folder for temporary files does not exist", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "story.yaml"), "steps: [{ advance: PT1H }]");
    // The compile cache of Node 22 and later would create the folder.
    const env = { ...process.env, TMPDIR: join(cwd, "none"), NODE_DISABLE_COMPILE_CACHE: "1" };
    const run = spawn(process.execPath, [getProgramPath("svc"), "run", "story.yaml"], { cwd, env });
    t.after(() => run.kill());
    const [stderr, [exit]] = await Promise.all([text(run.stderr), once(run, "close")]);
    assert.equal(exit, 1);
    assert.match(stderr, /^error: Failed to create \S+\/none\/svc-run-\w+: it does not exist \(ENOENT\)\.\n/);
  });

  // SEED=7 npm test -- cli/run/errors uses other random damage.
  it("reports the line in 200 randomly damaged files", async (t) => {
    const cwd = await createTestFolder(t);
    const random = createSeededRandom(Number(process.env.SEED ?? 43));
    const unclear: string[] = [];
    for (let i = 0; i < 200; i += 1) {
      const broken = breakStory(random);
      await writeFile(join(cwd, "story.yaml"), broken);
      const { exit, stdout, stderr } = await runCli("run story.yaml", { cwd });
      const areSentences = /^(?:(?:^error: | {2}- )story\.yaml:[1-9]\d*:[1-9]\d*: [^\n]+[.?]\n)+$/.test(
        stderr.replace(hint, ""),
      );
      if (exit !== 2 || stdout !== "" || !areSentences) unclear.push(`${broken}\n--> ${exit} ${stdout}${stderr}`);
    }
    assert.deepEqual(unclear, []);
  });
});

const validStory = `name: A story
start: 2031-01-02T03:04:05Z
steps:
  - receiver: app
    responses: [500, 200]
    subscribe: [CONTRACT_CREATED, CONTRACT_SIGNED]
  - call: contracts.create
    body: ${contract}
    save: { contract: id }
    expect: { status: 201, json: { contract_status: DRAFT } }
  - call: contracts.send
    params: { composite_id: $contract }
  - as: jo@acme.example
    sign: $contract
  - fault: { direction: outgoing, effect: duplicate, count: 2 }
  - advance: PT2H35M
  - for each: { page: [1, 2] }
    steps:
      - svc: contracts list --page $page
  - expect:
      activities: [CONTRACT_CREATED]
      deliveries: [{ to: app, outcome: delivered, attempts: 2 }]
      webhooks: { app: ACTIVE }
`;

type Random = () => number;

/** A generator of numbers from 0 to 1, deterministic for a seed. */
function createSeededRandom(seed: number): Random {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)]!;

/** Names that cause an error when misspelled. */
const names =
  /\b(steps|receiver|responses|subscribe|call|body|save|expect|status|json|params|as|sign|fault|direction|effect|count|advance|for each|svc|activities|deliveries|to|outcome|attempts|webhooks|composite_id|start)(?=:)/g;
const values =
  /\b(CONTRACT_CREATED|CONTRACT_SIGNED|contracts\.create|contracts\.send|outgoing|duplicate|delivered|ACTIVE|\$contract|\$page|2031-01-02T03:04:05Z)\b/g;

/** Ways to damage a story, each of which makes it invalid. */
const mutations: readonly ((random: Random) => string)[] = [
  (random) => misspell(names, random),
  (random) => misspell(values, random),
  // PT2H35M without its H would be another valid duration.
  (random) => replaceAt(/PT(?=2H)/g, random, () => pick(random, ["P", "T", "TP", "PTT"])),
  (random) => replaceAt(values, random, () => "[[7]]"),
  (random) => replaceAt(/\[(?=[A-Z\d{])/g, random, () => ""),
  (random) => replaceAt(/\{(?= \w+:)/g, random, () => "{ {"),
  (random) => replaceAt(/^ +- /gm, random, (match) => `\t${match}`),
  (random) => replaceAt(/: (?=\w)/g, random, () => ': "'),
  (random) => replaceAt(/^ {4}(?=\w)/gm, random, () => " "),
  (random) => replaceAt(/^ {2}- \w/gm, random, (match) => `  - nonsense: 1\n${match}`),
  (random) => validStory.slice(0, 1 + Math.floor(random() * (validStory.indexOf("steps:") + 5))),
];

const breakStory = (random: Random): string => pick(random, mutations)(random);

function replaceAt(pattern: RegExp, random: Random, replace: (match: string) => string): string {
  const { 0: match, index } = pick(random, [...validStory.matchAll(pattern)]);
  return validStory.slice(0, index) + replace(match) + validStory.slice(index + match.length);
}

/** Drops, doubles or changes a character. */
const misspell = (pattern: RegExp, random: Random): string =>
  replaceAt(pattern, random, (word) => {
    const at = Math.floor(random() * (word.length - 1)) + 1;
    return word.slice(0, at) + pick(random, ["", "q", `${word[at]}z`]) + word.slice(at + 1);
  });

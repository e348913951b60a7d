import { getPackageName, type Import } from "./imports.ts";

interface Layer {
  readonly path: string;
  /** Layers whose files the layer can import, in addition to its own. */
  readonly mayImport: readonly string[];
  /** Shorter form of `mayImport` for ARCHITECTURE.md. */
  readonly shown?: readonly string[];
  /** Files or layers that can be imported only dynamically. */
  readonly lazily?: readonly string[];
  /** Layers of which only types can be imported. */
  readonly typesOf?: readonly string[];
  /** Whether the layer runs in a browser, without Node modules. */
  readonly inBrowser?: true;
  /** Whether the layer can access disk, network or processes. */
  readonly io: boolean;
  /** Responsibility of the layer, as printed in ARCHITECTURE.md. */
  readonly homeOf: string;
}

/** A part of the emulator or of the command line. */
interface Part {
  readonly name: string;
  /** Allowed imports, if they are fewer than those of the later parts. */
  readonly only?: readonly string[];
  /** Earlier parts that must not be imported. */
  readonly not?: readonly string[];
  /** Additional allowed imports. */
  readonly also?: readonly string[];
  readonly lazily?: readonly string[];
  readonly io: boolean;
  readonly homeOf: string;
}

/** Creates layers from the bottom up. Each part can import the parts before it. */
const createLayers = (folder: string, foundation: readonly string[], parts: readonly Part[]): readonly Layer[] =>
  parts.map(({ name, only, not = [], also = [], lazily = [], io, homeOf }, at) => {
    const isFirst = !parts.slice(0, at).some((part) => part.only === undefined);
    const before = parts.slice(0, at).filter((part) => !not.includes(part.name));
    const except = not.length === 0 ? "" : ` except ${not.map((part) => `${folder}/${part}`).join(", ")}`;
    return {
      path: `${folder}/${name}`,
      mayImport: only ?? [...foundation, ...also, ...before.map((part) => `${folder}/${part.name}`)],
      lazily,
      ...(only === undefined && !isFirst && { shown: ["the same", ...also, `above in ${folder}${except}`] }),
      io,
      homeOf,
    };
  });

const emulatorParts = createLayers(
  "emulator",
  ["src/base", "src/files", "src/schemes", "src/api", "src/derive"],
  [
    { name: "published.d.ts", only: [], io: false, homeOf: "the types that the package publishes" },
    { name: "store", io: true, homeOf: "state: transactions, indexes, durability" },
    { name: "clock", io: false, homeOf: "virtual time, the schedule, its dispatcher" },
    { name: "http", io: true, homeOf: "Fastify, incoming and outgoing requests" },
    { name: "domain", io: false, homeOf: "the domain model of all services: clusters, workspaces, apps, settings" },
    { name: "faults", io: false, homeOf: "scripted faults of requests and webhooks" },
    { name: "webhooks", io: false, homeOf: "webhooks, deliveries, the retry rule" },
    { name: "cluster/pdf", only: ["src/base", "src/api"], io: true, homeOf: "PDFs, and the process that reads them" },
    { name: "cluster", io: false, homeOf: "the cluster: contract API, storage, identity" },
    { name: "router", not: ["cluster", "cluster/pdf"], io: false, homeOf: "the routing service" },
    { name: "trace", not: ["router"], io: false, homeOf: "traces: causes and effects" },
    { name: "travel", io: false, homeOf: "snapshots, history, rewind" },
    { name: "control", io: false, homeOf: "the control plane" },
    {
      name: "compose",
      also: ["fixtures", "src/verify"],
      io: true,
      homeOf: "options, seeds, opening a state, composing the parts",
    },
  ],
);

const cliParts = createLayers(
  "src/cli",
  ["src/base", "src/files", "src/schemes", "src/api", "src/client", "src/derive", "src/verify"],
  [
    { name: "process", io: true, homeOf: "the process: environment, streams, signals, failures, exit codes" },
    { name: "parse", io: true, homeOf: "the command line as words, flags and input" },
    { name: "output", io: true, homeOf: "tables, documents, files, annotations" },
    { name: "command.ts", io: false, homeOf: "the types of a command and of its context" },
    {
      name: "connection",
      lazily: ["emulator"],
      io: true,
      homeOf: "addresses, credentials, profiles, running emulators",
    },
    { name: "prompt", io: true, homeOf: "questions, spinners, editor, browser" },
    { name: "auth", io: true, homeOf: "sign-in and its tokens" },
    {
      name: "command-tree",
      lazily: ["src/cli/commands"],
      io: true,
      homeOf: "which commands exist, derived and hand-written",
    },
    { name: "runtime", io: true, homeOf: "running one command line: its context, its input, derived commands" },
    { name: "commands", also: ["fixtures"], lazily: ["emulator"], io: true, homeOf: "hand-written commands" },
    { name: "help", io: false, homeOf: "pages of help, completion" },
  ],
);

/** The layers, as printed in ARCHITECTURE.md. The most specific path applies. */
export const layers: readonly Layer[] = [
  { path: "src/base", mayImport: [], io: false, homeOf: "the HMAC primitive, ports of time and IDs" },
  { path: "src/files", mayImport: ["src/base"], io: true, homeOf: "atomic writes, append logs, the lock, real paths" },
  { path: "src/schemes", mayImport: ["src/base"], io: false, homeOf: "signature schemes" },
  { path: "src/api", mayImport: ["src/base"], io: false, homeOf: "declarations and their schemas" },
  { path: "src/client", mayImport: ["src/base", "src/api"], io: false, homeOf: "requests to a service" },
  {
    path: "src/derive",
    mayImport: ["src/base", "src/schemes", "src/api"],
    io: false,
    homeOf: "OpenAPI, reference, command descriptions",
  },
  {
    path: "src/verify",
    mayImport: ["src/base", "src/files", "src/schemes", "src/api", "src/derive", "fixtures"],
    io: true,
    homeOf: "recordings of the service, and their comparison with the emulator",
  },
  {
    path: "src/console",
    // Declared tables and webhook payloads, which require no schema library.
    mayImport: [
      "src/base",
      "src/schemes",
      "src/api/contracts/lifecycle.ts",
      "src/api/webhook-retries.ts",
      "src/api/webhook-health",
    ],
    typesOf: ["src/api", "src/derive/specs.ts"],
    inBrowser: true,
    io: false,
    homeOf: "the console",
  },
  ...cliParts,
  {
    path: "src/cli",
    mayImport: ["src/base", ...cliParts.map(({ path }) => path)],
    shown: ["src/base", "above in src/cli"],
    io: true,
    homeOf: "`main`: arguments to exit code",
  },
  {
    path: "emulator",
    mayImport: ["emulator/compose", "emulator/published.d.ts"],
    io: false,
    homeOf: "the entry point: `startEmulator`",
  },
  ...emulatorParts,
  { path: "bin", mayImport: ["src/cli"], lazily: ["dist"], io: true, homeOf: "the process" },
];

/** Packages whose code only the listed files can import. Types can be imported everywhere. */
export const homes: Readonly<Record<string, readonly string[]>> = {
  zod: ["src/api", "emulator", "src/cli/commands", "src/verify"],
  fastify: ["emulator/http"],
  "content-disposition": ["emulator/http"],
  undici: ["src/client/transport.ts", "emulator/http/outgoing"],
  lowdb: ["emulator/store"],
  postgres: ["emulator/store/postgres"],
  commander: ["src/cli/parse"],
  yaml: ["src/cli/commands/run"],
  "@inquirer/prompts": ["src/cli/prompt"],
  chalk: ["src/cli"],
  ora: ["src/cli/prompt"],
  "cross-spawn": ["src/cli"],
  "csv-parse": ["src/cli/commands/router/bulk"],
  "fast-string-width": ["src/cli"],
  "mime-types": ["src/cli", "emulator/cluster"],
  "@bomb.sh/tab": ["src/cli"],
  "@modelcontextprotocol/sdk": ["src/cli/commands/mcp"],
  jose: ["emulator"],
  "pdfjs-dist": ["emulator/cluster"],
  preact: ["src/console"],
  "@preact/signals": ["src/console"],
  "@cantoo/pdf-lib": ["emulator/cluster"],
};

const ioModules =
  /^node:(fs|net|http|https|http2|tls|dgram|dns|child_process|cluster|worker_threads|readline|repl|process|os)(\/|$)/;

/** Returns the layer with the longest path that matches. A file can be a layer. */
export const findLayer = (path: string): Layer | undefined =>
  layers.filter((layer) => `${path}/`.startsWith(`${layer.path}/`)).sort((a, b) => b.path.length - a.path.length)[0];

/** Lists imports that the table does not allow, each as a message. */
export const findForbiddenImports = (imports: readonly Import[]): string[] =>
  imports.flatMap((importSite) => {
    const problem = explainForbiddenImport(importSite);
    return problem === undefined ? [] : [`${importSite.from} imports ${importSite.target}: ${problem}`];
  });

function explainForbiddenImport({ from, target, kind }: Import): string | undefined {
  const layer = findLayer(from);
  if (!layer) return "the file is in no layer";
  if (target.startsWith("node:") && layer.inBrowser) return `${layer.path} runs in a browser`;
  if (target.startsWith("node:")) return !layer.io && ioModules.test(target) ? `${layer.path} does no I/O` : undefined;

  const name = getPackageName(target, [...layers.map(({ path }) => path), "dist", "fixtures"]);
  if (name !== undefined) {
    const home = homes[name];
    if (!home) return "the package has no home in the table";
    const atHome = home.some((homePath) => from.startsWith(homePath));
    return atHome || kind === "type" ? undefined : `its home is ${home.join(", ")}`;
  }

  const targetName = findLayer(target)?.path ?? target.split("/")[0]!;
  if (targetName === layer.path || layer.mayImport.includes(targetName) || layer.mayImport.includes(target))
    return undefined;
  if (kind === "type" && [targetName, target].some((importedPath) => layer.typesOf?.includes(importedPath)))
    return undefined;
  if (layer.mayImport.some((path) => isFolderWithin(path) && target.startsWith(`${path}/`))) return undefined;
  const lazy = layer.lazily?.some((layerPath) => target.startsWith(`${layerPath}/`));
  if (lazy) return kind === "static" ? "only by a dynamic import" : undefined;
  return `${layer.path} knows nothing of ${targetName}`;
}

/** Reports whether a path is a folder of a layer, but not a layer itself. */
const isFolderWithin = (layerPath: string): boolean => layers.every(({ path }) => path !== layerPath);

/** Formats the table as printed in ARCHITECTURE.md. */
export const formatLayerTable = (): string =>
  [
    "| layer | may import | the only home of |",
    "|---|---|---|",
    ...layers.map(({ path, mayImport, shown = mayImport, lazily = [], typesOf = [], homeOf }) => {
      const importable = [
        ...shown,
        ...lazily.map((layerPath) => `${layerPath} (late)`),
        ...typesOf.map((layerPath) => `${layerPath} (types)`),
      ];
      return `| \`${path}\` | ${importable.join(", ") || "–"} | ${homeOf} |`;
    }),
  ].join("\n");

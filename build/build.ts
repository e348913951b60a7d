import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative, resolve } from "node:path";
import { type BuildOptions, build, type Metafile, type Plugin } from "esbuild";
import { fontFiles } from "../emulator/cluster/pdf/fonts.ts";
import { reduceFont } from "../emulator/cluster/pdf/true-type.ts";
import { registry, webhookPayloads } from "../src/api/registry.ts";
import { commandsFile } from "../src/cli/built-commands.ts";
import { groupNames, loadDeclarations } from "../src/cli/command-tree.ts";
import { manualPage } from "../src/cli/help/manual.ts";
import { loadCommandTree } from "../src/cli/help/tree.ts";
import { operationTypes } from "../src/derive/operation-types.ts";
import { payloadTypes } from "../src/derive/payload-types.ts";
import { bundleConsole } from "./console.ts";
import { bundledPackages, thirdPartyText } from "./licences.ts";

const root = resolve(import.meta.dirname, "..");

/** Each becomes one CommonJS file; what it imports late is initialized in it by the first use. */
const commandLine = { main: "src/cli/entry.ts" };

/** What other people's programs import or require. The command line reaches the emulator by the same file. */
const libraries = {
  emulator: "emulator/index.ts",
  client: "src/client/index.ts",
  webhooks: "src/schemes/index.ts",
};

/** What runs in a process of its own. */
const processes = { "pdf-process": "emulator/cluster/pdf/process.ts" };

/** The types of what programs import: written by hand, so that they need no schema library, and compared by a test. */
const publishedTypes = {
  emulator: "emulator/published.d.ts",
  client: "src/client/published.d.ts",
  webhooks: "src/schemes/published.d.ts",
};

const fontPackage = "node_modules/dejavu-fonts-ttf";

/**
 * Modules that a package has for a feature we do not use, each worth milliseconds at the start: commander starts no
 * programs, zod speaks English alone, undici speaks no HTTP/2 here, sends no forms with files, and is asked for its
 * dispatchers alone, by its entry, which loads fetch, WebSocket, caches, mocks and interceptors with them.
 */
const unused = [
  { by: /node_modules\/commander\//, module: /^node:child_process$/ },
  { by: /node_modules\/zod\//, module: /\/locales\/index\.js$/ },
  { by: /node_modules\/undici\//, module: /^node:http2$/ },
  {
    by: /node_modules\/undici\/index\.js$/,
    module:
      /^\.\/lib\/(web|mock|interceptor|cache|global|handler|dispatcher\/(balanced|round|socks5|env-http|retry|h2c))/,
  },
  { by: /node_modules\/undici\/lib\/api\/index\.js$/, module: /^\.\/api-(request|stream|pipeline|upgrade)/ },
  { by: /node_modules\/undici\/lib\/dispatcher\//, module: /^\.(\/client-h2|\.\/web\/fetch\/body)\.js$/ },
];

const omitUnused: Plugin = {
  name: "omit-unused",
  setup({ onResolve, onLoad }) {
    for (const { by, module } of unused) {
      onResolve({ filter: module }, ({ importer, path }) =>
        by.test(importer) ? { path, namespace: "unused" } : undefined,
      );
    }
    onLoad({ filter: /.*/, namespace: "unused" }, () => ({
      contents: "module.exports = { constants: {}, CacheStorage: class {} };",
    }));
  },
};

/** The package holds the emulator once, for the command line too. */
const emulatorApart: Plugin = {
  name: "emulator-apart",
  setup({ onResolve }) {
    onResolve({ filter: /emulator\/index\.ts$/ }, ({ kind, path, resolveDir }) =>
      kind === "dynamic-import" && relative(root, resolve(resolveDir, path)) === libraries.emulator
        ? { path: "./emulator.cjs", external: true }
        : undefined,
    );
  },
};

const settings = {
  absWorkingDir: root,
  bundle: true,
  format: "cjs",
  outExtension: { ".js": ".cjs" },
  platform: "node",
  target: "node20.19",
  // A CommonJS file knows its place by another name. It is asked for by few.
  banner: { js: 'var bundleFile={get url(){return require("node:url").pathToFileURL(__filename).href}};' },
  define: { "import.meta.url": "bundleFile.url", "import.meta.dirname": "__dirname" },
  // Node reads all of a file before it runs any of it. Names stay: --debug shows where an error comes from. Lines end:
  // Node prints the whole line that an unhandled error comes from.
  minifySyntax: true,
  minifyWhitespace: true,
  lineLimit: 200,
  legalComments: "none",
  // Optional companions of pdfjs, which draws nothing here.
  external: ["canvas", "@napi-rs/canvas", "path2d"] as string[],
  metafile: true,
  logLevel: "warning",
} satisfies BuildOptions;

/** CommonJS packages inside an ES module call require. */
const asModule = {
  format: "esm",
  outExtension: {},
  banner: {
    js: 'import { createRequire as createBundleRequire } from "node:module";const require = createBundleRequire(import.meta.url);',
  },
  define: {},
} satisfies BuildOptions;

/** Bundles into `outdir` all that ships below `dist`. Returns what the bundler reports about its files. */
export async function bundle(outdir: string): Promise<Metafile> {
  // A build that fails leaves the last good one in place.
  const fresh = `${outdir}.new-${process.pid}`;
  const { metafile: ofCommandLine } = await build({
    ...settings,
    outdir: fresh,
    entryPoints: commandLine,
    define: {
      ...settings.define,
      SVC_VERSION: JSON.stringify(packageVersion()),
      SVC_COMMANDS: JSON.stringify((await allDeclared()).map(({ words }) => words.join(" ")).join("\n")),
    },
    plugins: [omitUnused, emulatorApart],
  });
  const { metafile: ofLibraries } = await build({
    ...settings,
    outdir: fresh,
    entryPoints: libraries,
    inject: [join(root, "src/base/node-globals.ts")],
    plugins: [omitUnused],
  });
  const { metafile: ofProcesses } = await build({
    ...settings,
    ...asModule,
    outdir: fresh,
    entryPoints: processes,
    plugins: [omitUnused],
  });
  const ofConsole = await bundleConsole(`${fresh}/console`);
  for (const name of Object.keys(libraries)) writeModuleWrapper(fresh, name);
  writeFonts(`${fresh}/fonts`);
  await writeCommands(fresh);
  await writeManual(`${fresh}/man`);
  writeTypes(fresh);
  const metafiles = [ofCommandLine, ofLibraries, ofProcesses, ofConsole];
  writeFileSync(`${fresh}/THIRD-PARTY.txt`, thirdPartyText(bundledPackages(root, metafiles, [fontPackage])));
  rmSync(outdir, { recursive: true, force: true });
  renameSync(fresh, outdir);
  return { inputs: {}, outputs: Object.assign({}, ...metafiles.map(({ outputs }) => outputs)) };
}

/** For programs that `import` a library: the same objects as for those that `require` it. */
function writeModuleWrapper(folder: string, name: string): void {
  const names = Object.keys(createRequire(import.meta.url)(join(folder, `${name}.cjs`)));
  writeFileSync(
    `${folder}/${name}.js`,
    `import library from "./${name}.cjs";\nexport const { ${names.join(", ")} } = library;\n`,
  );
}

/** The fonts of documents, with the characters that those can show. */
function writeFonts(folder: string): void {
  mkdirSync(folder);
  for (const name of Object.values(fontFiles)) {
    writeFileSync(join(folder, name), reduceFont(readFileSync(join(root, fontPackage, "ttf", name))));
  }
}

/** Twice, since a compiler takes the kind of a module from the name of its types: `.d.cts` for those who `require`. */
function writeTypes(folder: string): void {
  const derived = { operations: operationTypes(registry), payloads: payloadTypes(webhookPayloads) };
  const published = Object.fromEntries(
    Object.entries(publishedTypes).map(([name, path]) => [name, readFileSync(join(root, path), "utf8")]),
  );
  for (const [name, text] of Object.entries({ ...derived, ...published })) {
    writeFileSync(`${folder}/${name}.d.ts`, text);
    writeFileSync(`${folder}/${name}.d.cts`, text.replaceAll('.d.ts"', '.d.cts"'));
  }
}

/** Every command, in the order of the root help. */
const allDeclared = async () => (await Promise.all((await groupNames()).map(loadDeclarations))).flat();

const packageVersion = (): string => JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version;

async function writeCommands(folder: string): Promise<void> {
  mkdirSync(`${folder}/commands`);
  for (const group of await groupNames()) {
    const declared = await loadDeclarations(group);
    writeFileSync(join(folder, commandsFile(group)), declared.map((one) => JSON.stringify(one)).join("\n"));
  }
}

/** `man svc`: package.json names the page. */
async function writeManual(folder: string): Promise<void> {
  mkdirSync(folder);
  writeFileSync(`${folder}/svc.1`, manualPage(await loadCommandTree(loadDeclarations), packageVersion()));
}

if (import.meta.url === `file://${process.argv[1]}`) {
  const metafile = await bundle(join(root, "dist"));
  // Where tests have the package built by npm, they look at what it was made of without building it once more.
  const { SVC_BUILD_METAFILE: metafilePath } = process.env;
  if (metafilePath) writeFileSync(metafilePath, JSON.stringify(metafile));
}

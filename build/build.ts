import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative, resolve } from "node:path";
import { type BuildOptions, build, type Metafile, type Plugin, transform } from "esbuild";
import { fontFiles } from "../emulator/cluster/pdf/render.ts";
import { reduceFont } from "../emulator/cluster/pdf/true-type.ts";
import { registry, webhookPayloads } from "../src/api/registry.ts";
import { getCommandsFile, loadCommandTree } from "../src/cli/command-tree/tree.ts";
import { formatManual } from "../src/cli/help/manual.ts";
import { renderOperationTypes, renderPayloadTypes } from "../src/derive/operation-types.ts";
import { bundleConsole } from "./console.ts";
import { formatThirdPartyNotices } from "./licences.ts";

const root = resolve(import.meta.dirname, "..");

/** The modules that every command line loads, and those that most commands load. */
const commandLine = ["src/cli/main.ts", "src/cli/runtime/perform.ts"];

/** Modules that other programs import or require. The command line loads the emulator from the same file. */
const libraries = { emulator: "emulator/index.ts", client: "src/client/index.ts" };

/** Receivers bundle this library, so it shares no files: with them, its bundle would contain the whole command line. */
const webhooks = "src/schemes/index.ts";

const isLibrary = (module: string): boolean => Object.values(libraries).includes(module);

/**
 * Modules that the command line shares with a library. Every library loads them all, because esbuild makes a file for
 * every set of programs that share something.
 */
const sharedModules = [
  "src/api/contracts/lifecycle.ts",
  "src/api/resources.ts",
  "src/api/secrets.ts",
  "src/base/quantities.ts",
  "src/base/json.ts",
  "src/base/otel.ts",
  "src/base/response-quirks.ts",
  "src/base/timing.ts",
  "src/base/urls.ts",
  "src/base/version.ts",
  "src/client/errors.ts",
  "src/derive/command-spec.ts",
  "src/files/lock.ts",
  "src/files/folders.ts",
];

/** Modules that run in a separate process. */
const processes = { "pdf-process": "emulator/cluster/pdf/process.ts" };

/**
 * The types of published modules. They are written by hand, so that they need no schema library, and a test compares
 * them.
 */
const publishedTypes = {
  emulator: "emulator/published.d.ts",
  client: "src/client/published.d.ts",
  webhooks: "src/schemes/published.d.ts",
};

const fontPackage = "node_modules/dejavu-fonts-ttf";

/**
 * Modules of packages for features that the project does not use. Each one slows the start or fills the package:
 * commander starts no programs, zod needs only English messages, Fastify has no schemas and receives real requests,
 * PDFs are made without HTML and with the fonts of the project, the MCP server requests no forms from its client, and
 * undici needs no HTTP/2, no SOCKS and no forms with files. The entry of undici is replaced too, because it loads
 * fetch, WebSocket, caches, mocks and interceptors.
 */
const unused = [
  { by: /node_modules\/commander\//, module: /^node:child_process$/ },
  { by: /node_modules\/zod\//, module: /\/locales\/index\.js$/ },
  { by: /node_modules\/fastify\//, module: /^(@fastify\/(ajv|fast-json-stringify)-compiler|light-my-request)$/ },
  { by: /node_modules\/@cantoo\/pdf-lib\//, module: /^node-html-better-parser$/ },
  { by: /pdf-lib\/es\/packages\/standard-fonts\/Font\.js$/, module: /\.compressed\.json$/ },
  { by: /node_modules\/@modelcontextprotocol\//, module: /\/ajv-provider\.js$/ },
  {
    by: /node_modules\/undici\/index\.js$/,
    module:
      /^\.\/lib\/(web|mock|interceptor|cache|global|handler|dispatcher\/(balanced|round|socks5|env-http|retry|h2c))/,
  },
  { by: /node_modules\/undici\/lib\/api\/index\.js$/, module: /^\.\/api-(request|stream|pipeline|upgrade)/ },
  {
    by: /node_modules\/undici\/lib\/dispatcher\//,
    module: /^\.(\/client-h2|\/socks5-proxy-agent|\.\/web\/fetch\/body)(\.js)?$/,
  },
];

const omitUnused: Plugin = {
  name: "omit-unused",
  setup({ onResolve, onLoad }) {
    for (const { by, module } of unused) {
      onResolve({ filter: module }, ({ importer, path }) =>
        by.test(importer) ? { path, namespace: "unused" } : undefined,
      );
    }
    // Node modules are free of side effects, so unused imports are removed.
    onResolve({ filter: /^node:/ }, ({ path }) => ({ path, external: true, sideEffects: false }));
    onLoad({ filter: /.*/, namespace: "unused" }, () => ({
      contents: "module.exports = { CacheStorage: class {}, AjvJsonSchemaValidator: class {} };",
    }));
  },
};

/**
 * Shortens names inside packages. Names of the project stay, because --debug shows where an error comes from.
 *
 * zod stores its settings in globalThis, where all copies of zod in a program find them. The bundled copy has its own.
 */
const shortenPackages: Plugin = {
  name: "shorten-packages",
  setup({ onLoad }) {
    onLoad({ filter: /node_modules\/.*\.[cm]?js$/ }, async ({ path }) => {
      const text = readFileSync(path, "utf8");
      const isZod = /node_modules\/zod\//.test(path);
      const { code } = await transform(isZod ? `const privateGlobals = {};${text}` : text, {
        minifyIdentifiers: true,
        define: isZod ? { globalThis: "privateGlobals" } : {},
      });
      return { contents: code };
    });
  },
};

/**
 * A module that is imported late imports the loaded parts of the command line, so that shared code stays in these.
 * esbuild makes a file for every set of modules that share something, and Node takes half a millisecond to load each.
 * The command line loads the emulator from the published file.
 */
const lateModules: Plugin = {
  name: "late-modules",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\./ }, ({ kind, path, importer, resolveDir }) => {
      const module = relative(root, resolve(resolveDir, path));
      const isLate = kind === "dynamic-import" && !importer.includes("node_modules");
      if (!isLate && !(kind === "entry-point" && isLibrary(module))) return undefined;
      return isLate && module === libraries.emulator
        ? { path: "./emulator.cjs", external: true }
        : { path: module, namespace: "late" };
    });
    onLoad({ filter: /.*/, namespace: "late" }, ({ path }) => {
      const before =
        path.startsWith("emulator/") || path.startsWith("src/api/") || isLibrary(path)
          ? sharedModules
          : commandLine.slice(0, commandLine.includes(path) ? commandLine.indexOf(path) : undefined);
      return {
        contents: `${before.map((part) => `import "./${part}";`).join("")} export * from "./${path}";`,
        resolveDir: root,
      };
    });
  },
};

// Node reads a whole file before it runs any of it. Lines are kept short because Node prints the whole line of an
// unhandled error.
const compact = {
  target: "node20.19",
  minifySyntax: true,
  minifyWhitespace: true,
  lineLimit: 200,
  legalComments: "none",
} satisfies BuildOptions;

const settings = {
  ...compact,
  absWorkingDir: root,
  bundle: true,
  platform: "node",
  format: "cjs",
  outExtension: { ".js": ".cjs" },
  // CommonJS has no `import.meta`, which a few modules use.
  define: { "import.meta.url": "bundleFile.url", "import.meta.dirname": "__dirname" },
  metafile: true,
  logLevel: "warning",
} satisfies BuildOptions;

/** Loads Node's modules also in a program that bundles a library as an ES module, which has no `require`. */
const nodeLoader = "process.getBuiltinModule";

/**
 * Bundles programs as CommonJS files: one for each entry, one for each module that is imported late, and one for the
 * code that they share.
 */
async function buildInParts(options: BuildOptions): Promise<Metafile> {
  const { metafile } = await build({
    ...settings,
    ...options,
    metafile: true,
    format: "esm",
    splitting: true,
    banner: {
      js: `var require=${nodeLoader},bundleFile={get url(){return require("node:url").pathToFileURL(__filename).href}};`,
    },
    plugins: [omitUnused, shortenPackages, lateModules],
  });
  // esbuild splits only ES modules, which Node loads more slowly.
  for (const path of Object.keys(metafile.outputs).map((name) => join(root, name))) {
    const text = readFileSync(path, "utf8");
    const { code } = await transform(text, { ...compact, format: "cjs", supported: { "dynamic-import": false } });
    // Rollup would indent the second line of a string that `lineLimit` splits.
    writeFileSync(path, loadNodeModulesOnUse(code.replaceAll("\\\n", "")));
  }
  return metafile;
}

/**
 * Loads Node's modules on their first use instead of with the file. A command uses few of those that its files import,
 * and for example `node:crypto` takes a tenth as long to load as Node to start.
 */
function loadNodeModulesOnUse(code: string): string {
  const names: string[] = [];
  const lazyCode = code.replace(/\b(import_\w+)=require\(("node:[\w/]+")\)/g, (_, name: string, id: string) => {
    names.push(name);
    return `${name}=nodeModule(${id})`;
  });
  // A method may have this name, too.
  const loadedCode = lazyCode.replace(/(?<![.\w$])require\((?=\s*"[^.])/g, `${nodeLoader}(`);
  return names.length === 0
    ? loadedCode
    : `${loadedCode.replace(new RegExp(`\\b(${names.join("|")})\\.`, "g"), "$1.module.")}
function nodeModule(id){let module;return{get module(){return module??=${nodeLoader}(id)}}}
`;
}

/** CommonJS packages inside an ES module call `require`. */
const asModule = {
  format: "esm",
  outExtension: {},
  banner: {
    js: 'import { createRequire as createBundleRequire } from "node:module";const require = createBundleRequire(import.meta.url);',
  },
  define: {},
} satisfies BuildOptions;

/** Bundles everything that ships below `dist` into `outdir`. Returns the bundler's description of its files. */
export async function bundle(outdir: string): Promise<Metafile> {
  // After a failed build, the last successful output stays in place.
  const temporaryOutdir = `${outdir}.new-${process.pid}`;
  const groups = await loadCommandTree();
  const ofPrograms = await buildInParts({
    outdir: temporaryOutdir,
    entryPoints: { main: commandLine[0]!, ...libraries },
    inject: [join(root, "src/base/node-globals.ts")],
    define: {
      ...settings.define,
      SVC_COMMANDS: JSON.stringify(
        groups.flatMap(({ commands }) => commands.map(({ words }) => words.join(" "))).join("\n"),
      ),
    },
  });
  const { metafile: ofProcesses } = await build({
    ...settings,
    ...asModule,
    outdir: temporaryOutdir,
    entryPoints: processes,
    plugins: [omitUnused, shortenPackages],
  });
  for (const form of [{}, { ...asModule, banner: {} }])
    await build({
      ...settings,
      ...form,
      lineLimit: 0,
      minifyWhitespace: false,
      outdir: temporaryOutdir,
      entryPoints: { webhooks },
      plugins: [omitUnused],
    });
  const ofConsole = await bundleConsole(`${temporaryOutdir}/console`);
  for (const name of Object.keys(libraries)) writeModuleWrapper(temporaryOutdir, name);
  writeFonts(`${temporaryOutdir}/fonts`);
  // The steps of `svc tour`.
  cpSync(join(root, "fixtures/scenarios/tour.yaml"), `${temporaryOutdir}/scenarios/tour.yaml`);
  mkdirSync(`${temporaryOutdir}/commands`);
  for (const { name, commands } of groups)
    writeFileSync(
      join(temporaryOutdir, getCommandsFile(name)),
      commands.map((item) => JSON.stringify(item)).join("\n"),
    );
  // The page for `man svc`, which package.json names.
  mkdirSync(`${temporaryOutdir}/man`);
  writeFileSync(`${temporaryOutdir}/man/svc.1`, formatManual(groups));
  writeTypes(temporaryOutdir);
  const metafiles = [ofPrograms, ofProcesses, ofConsole];
  writeFileSync(`${temporaryOutdir}/THIRD-PARTY.txt`, formatThirdPartyNotices(root, metafiles, [fontPackage]));
  rmSync(outdir, { recursive: true, force: true });
  renameSync(temporaryOutdir, outdir);
  return { inputs: {}, outputs: Object.assign({}, ...metafiles.map(({ outputs }) => outputs)) };
}

/** Programs that `import` a library get the same objects as those that `require` it. */
function writeModuleWrapper(folder: string, name: string): void {
  const names = Object.keys(createRequire(import.meta.url)(join(folder, `${name}.cjs`)));
  writeFileSync(
    `${folder}/${name}.js`,
    `import library from "./${name}.cjs";\nexport const { ${names.join(", ")} } = library;\n`,
  );
}

/** Writes the fonts of documents, reduced to the characters that they can show. */
function writeFonts(folder: string): void {
  mkdirSync(folder);
  for (const name of Object.values(fontFiles)) {
    writeFileSync(join(folder, name), reduceFont(readFileSync(join(root, fontPackage, "ttf", name))));
  }
}

/**
 * Writes each declaration file twice, because a compiler infers the module type from the file name: `.d.cts` is for
 * programs that `require`.
 */
function writeTypes(folder: string): void {
  for (const [name, text] of Object.entries({
    operations: renderOperationTypes(registry),
    payloads: renderPayloadTypes(webhookPayloads),
  })) {
    writeFileSync(`${folder}/${name}.d.cts`, text);
    writeFileSync(`${folder}/${name}.d.ts`, `export * from "./${name}.cjs";\n`);
  }
  for (const [name, path] of Object.entries(publishedTypes)) {
    const text = readFileSync(join(root, path), "utf8");
    writeFileSync(`${folder}/${name}.d.ts`, text);
    writeFileSync(`${folder}/${name}.d.cts`, text.replaceAll('.d.ts"', '.d.cts"'));
  }
}

if (import.meta.url === `file://${process.argv[1]}`) {
  const metafile = await bundle(join(root, "dist"));
  // When tests let npm build the package, they read the metadata of that build.
  const { SVC_BUILD_METAFILE: metafilePath } = process.env;
  if (metafilePath) writeFileSync(metafilePath, JSON.stringify(metafile));
}

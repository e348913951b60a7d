import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join, relative, resolve } from "node:path";
import { type BuildOptions, build, type Metafile, type Plugin, transform } from "esbuild";
import { bundleConsole } from "./console-bundle.ts";
import { fontFiles } from "./emulator/cluster/pdf/fonts.ts";
import { reducedFont } from "./emulator/cluster/pdf/true-type.ts";
import { bundledPackages, thirdPartyText } from "./licences.ts";
import { registry, webhookPayloads } from "./src/api/registry.ts";
import { commandsFile } from "./src/cli/built-commands.ts";
import { declarationsOf, groupNames } from "./src/cli/command-tree.ts";
import { groupManual, manualPage } from "./src/cli/help/manual.ts";
import { wholeTree } from "./src/cli/help/tree.ts";
import { operationTypes } from "./src/derive/operation-types.ts";
import { payloadTypes } from "./src/derive/payload-types.ts";

const root = import.meta.dirname;

/** What ships for people at a terminal; and what loads it, a file of its own. */
const commandLine = { main: "src/cli/entry.ts" };
const loader = { start: "src/cli/start/start.ts" };

/** What other people's programs import; the command line reaches the emulator by the same door. */
const programs = {
  emulator: "emulator/index.ts",
  client: "src/client/index.ts",
  webhooks: "src/schemes/index.ts",
};

/** What is started in a process of its own, by its file. */
const processes = { "pdf-process": "emulator/cluster/pdf/process.ts" };

/** The types of what programs import: written by hand, so that they need no schema library, and compared by a test. */
const publishedTypes = {
  emulator: "emulator/published.d.ts",
  client: "src/client/published.d.ts",
  webhooks: "src/schemes/published.d.ts",
};

// CommonJS packages inside an ES module bundle call require, all of them for built-in modules; every chunk needs one.
const banner = `const require = (id) => {
  const found = process.getBuiltinModule(id);
  if (found === undefined) throw Object.assign(new Error("Cannot find module " + id), { code: "MODULE_NOT_FOUND" });
  return found;
};`;

/**
 * The same programs for those who `require` them, each a file of its own. A CommonJS file knows where it lies by another
 * name; the process that reads PDFs is an ES module for both.
 */
const commonJs: BuildOptions = {
  format: "cjs",
  splitting: false,
  outExtension: { ".js": ".cjs" },
  banner: { js: 'var chunkFile={get url(){return require("node:url").pathToFileURL(__filename).href}};' },
  define: { "import.meta.url": "chunkFile.url" },
};

/**
 * Node reads all of a file before it runs any of it, and holds it in twice the memory where one character is not Latin:
 * those stand in comments. Names stay: --debug shows where an error is from. Lines end: Node prints the whole one that an
 * error nobody handles is from.
 */
const compact = {
  minifySyntax: true,
  minifyWhitespace: true,
  lineLimit: 200,
  legalComments: "none",
} satisfies BuildOptions;

/**
 * Modules that a package has for a feature we do not use, each worth milliseconds at the start: commander starts no
 * programs, undici speaks no HTTP/2 here, sends no forms with files, and is asked for its dispatchers alone, by its entry,
 * which loads fetch, WebSocket, caches, mocks and interceptors with them.
 */
const unused = [
  { by: /node_modules\/commander\//, module: /^node:child_process$/ },
  { by: /node_modules\/undici\//, module: /^node:http2$/ },
  {
    by: /node_modules\/undici\/index\.js$/,
    module:
      /^\.\/lib\/(web|mock|interceptor|cache|global|handler|dispatcher\/(balanced|round|socks5|env-http|retry|h2c))/,
  },
  { by: /node_modules\/undici\/lib\/api\/index\.js$/, module: /^\.\/api-(request|stream|pipeline|upgrade)/ },
  { by: /node_modules\/undici\/lib\/dispatcher\//, module: /^\.(\/client-h2|\.\/web\/fetch\/body)\.js$/ },
];

const leaveOutUnused: Plugin = {
  name: "leave-out-unused",
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

/** Late modules that may take another late one to be there: nothing else imports them, or they use much of it. */
const laterStill = [
  { than: "src/cli/commands/router/show-email.ts", module: /^src\/cli\/(bulk\/|commands\/router\/index)/ },
  { than: "src/cli/commands/router/index.ts", module: /^src\/cli\/bulk\// },
];

/**
 * What the command line imports late, it imports when `main` is there already. Each late module says so here, so that
 * esbuild leaves what both use in the chunk of `main`: it makes a chunk for every set of users, and Node needs more than
 * half a millisecond for each file. For the same reason programs are bundled apart.
 */
const lateOnesHave = (main: string): Plugin => ({
  name: "late-ones-have-main",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) => {
      if (kind !== "dynamic-import") return undefined;
      const late = relative(root, resolve(resolveDir, path));
      return late === programs.emulator && late !== main
        ? { path: "./emulator.cjs", external: true }
        : { path: late, namespace: "late" };
    });
    onLoad({ filter: /.*/, namespace: "late" }, ({ path }) => {
      const before = [main, ...laterStill.filter(({ module }) => module.test(path)).map(({ than }) => than)];
      return {
        contents: `${before.map((one) => `import "./${one}";`).join(" ")} export * from "./${path}";`,
        resolveDir: root,
      };
    });
  },
});

/**
 * What undici has of built-in modules for which the command line has no other use: of Node's own HTTP client one number,
 * how long all headers of an answer may be (src/client/network-failure.ts says it, too), and assertions without a text.
 */
const standIns: Readonly<Record<string, string>> = {
  "node:http": "module.exports = { maxHeaderSize: 16_384 };",
  "node:assert": 'module.exports = (holds) => { if (!holds) throw new Error("undici is in no state for this"); };',
};

const undiciByItself: Plugin = {
  name: "undici-by-itself",
  setup({ onResolve, onLoad }) {
    // It works out a dozen lists of characters and methods, and uses two lists of numbers.
    onLoad({ filter: /[\\/]llhttp[\\/]constants\.js$/ }, ({ path }) => {
      const { ERROR, TYPE } = createRequire(import.meta.url)(path) as Record<string, unknown>;
      return { contents: `module.exports = ${JSON.stringify({ ERROR, TYPE })};` };
    });
    onResolve({ filter: /^node:/ }, ({ importer, path }) =>
      /node_modules\/undici\//.test(importer) && Object.hasOwn(standIns, path)
        ? { path, namespace: "stand-in" }
        : undefined,
    );
    onLoad({ filter: /.*/, namespace: "stand-in" }, ({ path }) => ({ contents: standIns[path] }));
  },
};

/** undici's parser of HTTP, by the names of the modules that hold it. */
const parsers = ["llhttp-wasm", "llhttp_simd-wasm"] as const;

/** Each is a text of base64 in a module, read and kept with the code of undici; as a file it is read when it is needed. */
const parsersBeside: Plugin = {
  name: "parsers-beside",
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]llhttp(_simd)?-wasm\.js$/ }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule("node:fs")
        .readFileSync(new URL("./${basename(path, ".js")}.wasm", chunkFile.url));`,
    }));
  },
};

function writeParsers(folder: string): void {
  const require = createRequire(import.meta.url);
  for (const name of parsers) writeFileSync(`${folder}/${name}.wasm`, require(`undici/lib/llhttp/${name}.js`));
}

/** The fonts of documents, with the characters that those can show. */
function writeFonts(folder: string): void {
  mkdirSync(folder);
  for (const name of Object.values(fontFiles)) {
    writeFileSync(join(folder, name), reducedFont(readFileSync(join(root, fontPackage, "ttf", name))));
  }
}

/** The story that `svc tour` runs. */
function writeTour(folder: string): void {
  mkdirSync(folder);
  cpSync(join(root, "fixtures/scenarios/tour.yaml"), join(folder, "tour.yaml"));
}

const fontPackage = "node_modules/dejavu-fonts-ttf";

/** Packages that few commands get to use, and whose expressions take a millisecond to make: loaded by the first call. */
const latePackages: Plugin = {
  name: "late-packages",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^fast-string-width$/ }, ({ kind, path }) =>
      kind === "import-statement" ? { path, namespace: "late-package" } : undefined,
    );
    onLoad({ filter: /.*/, namespace: "late-package" }, ({ path }) => ({
      contents: `export default (...given) => require("${path}").default(...given);`,
      resolveDir: root,
    }));
  },
};

/**
 * Built-in modules that take milliseconds to load and that few commands get to use: loaded by the first call, and kept,
 * since to ask Node for one takes as long as to hash an address.
 */
const lateBuiltins = ["node:crypto", "node:fs/promises", "node:os", "node:tty", "node:zlib"];

/**
 * An import of a built-in module makes Node read all it exports, which loads what lies behind each getter; asked for by
 * name, it loads itself alone. Each name is a declaration of its own here, so that none stays that is not used.
 */
const builtinsByName: Plugin = {
  name: "builtins-by-name",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:/ }, ({ kind, path, importer }) => {
      if (kind !== "import-statement") return undefined;
      // What takes a module as a whole, or classes of it, loads it with itself: that of others may be there without it.
      const from =
        importer.split("node_modules/").slice(1).at(-1) ?? (path === "node:stream" ? relative(root, importer) : "");
      return { path, namespace: "builtin", sideEffects: false, suffix: from && `?${from}` };
    });
    onLoad({ filter: /.*/, namespace: "builtin" }, ({ path }) => {
      const found = process.getBuiltinModule(path) as Record<string, unknown>;
      const named = Object.keys(found).filter((name) => name !== "default");
      const isLate = (name: string) =>
        lateBuiltins.includes(path) && typeof found[name] === "function" && /^[a-z]/.test(name);
      const contents = named.map((name) =>
        isLate(name)
          ? `export const ${name} = (...given) => (kept ??= builtin()).${name}(...given);`
          : `export const ${name} = /* @__PURE__ */ (() => builtin().${name})();`,
      );
      return {
        contents: `let kept;\nconst builtin = () => process.getBuiltinModule("${path}");\n${contents.join("\n")}
          export default /* @__PURE__ */ builtin();`,
      };
    });
  },
};

/**
 * Bundles into `outdir`, and writes what is declared of the commands beside it. All chunks lie in one folder: they read files by it.
 * What is told of the bundle concerns the command line.
 */
export async function bundle(outdir: string): Promise<Metafile> {
  // A build that fails leaves the last good one in place.
  const fresh = `${outdir}.new-${process.pid}`;
  const settings: BuildOptions = {
    absWorkingDir: root,
    outdir: fresh,
    chunkNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    banner: { js: banner },
    define: {
      SVC_COMMANDS: JSON.stringify((await allDeclared()).map(({ words }) => words.join(" ")).join("\n")),
    },
    minifySyntax: true,
    // Optional companions of pdfjs, which draws nothing here.
    external: ["canvas", "@napi-rs/canvas", "path2d"],
    logLevel: "warning",
  };
  // The command line loads the emulator as it loads its own code, so it is made of chunks as that is.
  const { emulator, ...others } = programs;
  const imported: BuildOptions = { ...settings, inject: [join(root, "src/base/node-globals.ts")] };
  const { metafile: ofEmulator } = await build({
    ...imported,
    banner: {},
    entryPoints: { emulator },
    plugins: [leaveOutUnused, lateOnesHave(emulator)],
    metafile: true,
  });
  const emulatorTexts = await makeCommonJs(ofEmulator, commonJs.banner!.js!);
  const { metafile: ofPrograms } = await build({
    ...imported,
    entryPoints: programs,
    plugins: [leaveOutUnused],
    metafile: true,
  });
  const { metafile: ofProcesses } = await build({
    ...settings,
    entryPoints: processes,
    plugins: [leaveOutUnused],
    metafile: true,
  });
  const { metafile: ofCommonJs } = await build({
    ...imported,
    ...commonJs,
    entryPoints: others,
    plugins: [leaveOutUnused],
    metafile: true,
  });
  const { metafile } = await build({
    ...settings,
    banner: {},
    entryPoints: commandLine,
    plugins: [
      leaveOutUnused,
      undiciByItself,
      parsersBeside,
      latePackages,
      lateOnesHave(commandLine.main),
      builtinsByName,
    ],
    metafile: true,
  });
  const main = mainChunk(metafile);
  const texts = await makeCommonJs(metafile);
  const id = createHash("sha256")
    .update([...texts, ...emulatorTexts].join("\n"))
    .digest("hex")
    .slice(0, 16);
  await build({
    ...settings,
    ...commonJs,
    ...compact,
    banner: {},
    define: {
      SVC_MAIN_CHUNK: JSON.stringify(main),
      SVC_BUNDLE_ID: JSON.stringify(id),
      SVC_VERSION: JSON.stringify(packageVersion()),
    },
    entryPoints: loader,
  });
  const ofConsole = await bundleConsole(`${fresh}/console`);
  writeParsers(fresh);
  writeFonts(`${fresh}/fonts`);
  writeTour(`${fresh}/scenarios`);
  await writeCommands(fresh);
  await writeManual(`${fresh}/man`);
  writeTypes(fresh);
  writeFileSync(
    `${fresh}/THIRD-PARTY.txt`,
    thirdPartyText(
      bundledPackages(root, [ofPrograms, ofProcesses, ofEmulator, ofCommonJs, ofConsole, metafile], [fontPackage]),
    ),
  );
  rmSync(outdir, { recursive: true, force: true });
  renameSync(fresh, outdir);
  return metafile;
}

/**
 * The name of the chunk that holds `main`. The entry only hands on what it exports (what is imported late imports that
 * chunk), and is left out: a file less for each command.
 */
function mainChunk({ outputs }: Metafile): string {
  const [entry = ""] = Object.keys(outputs).filter((path) => outputs[path]!.entryPoint === commandLine.main);
  const chunk = outputs[entry]!.imports[0]!.path;
  rmSync(join(root, entry));
  delete outputs[entry];
  return basename(chunk).replace(/\.js$/, ".cjs");
}

/**
 * Makes CommonJS of chunks, which esbuild splits as ES modules alone: Node takes milliseconds to get its loader of those
 * ready, and V8's compiled code can be kept for scripts only. `first` stands above all else in each. Returns their texts.
 */
async function makeCommonJs({ outputs }: Metafile, first = ""): Promise<string[]> {
  const texts: string[] = [];
  for (const path of Object.keys(outputs)) {
    const { code } = await transform(readFileSync(join(root, path), "utf8"), {
      ...compact,
      format: "cjs",
      platform: "node",
      target: "node20.19",
      define: { "import.meta.url": "chunkFile.url", "import.meta.dirname": "__dirname" },
    });
    const renamed = path.replace(/\.js$/, ".cjs");
    const text =
      first +
      code
        .replaceAll(/\bimport\(\s*"\.\/([^"]+)\.c?js"\s*\)/g, 'Promise.resolve().then(()=>require("./$1.cjs"))')
        .replaceAll(/\brequire\(\s*"\.\/([^"]+)\.js"\s*\)/g, 'require("./$1.cjs")')
        // esbuild exports a copy whose getters all ask by a name that they are told: V8 never learns where these lead, and
        // a function of another chunk costs more to reach than many take.
        .replace(/\bmodule\.\s*exports\s*=\s*__toCommonJS\(\s*stdin_exports\s*\)/, "module.exports=stdin_exports");
    const left = /\bimport\(\s*"\.|__toCommonJS\(\s*stdin_exports/.exec(text);
    if (left) throw new Error(`${renamed} is CommonJS in part only: ${text.slice(left.index, left.index + 80)}`);
    texts.push(text);
    rmSync(join(root, path));
    writeFileSync(join(root, renamed), text);
    outputs[renamed] = outputs[path]!;
    delete outputs[path];
  }
  return texts;
}

/** Twice, since a compiler takes the kind of a module from the name of its types: `.d.cts` for those who `require`. */
function writeTypes(folder: string): void {
  const derived = { operations: operationTypes(registry), payloads: payloadTypes(webhookPayloads) };
  const types = { ...derived, ...written(publishedTypes) };
  for (const [name, text] of Object.entries(types)) {
    writeFileSync(`${folder}/${name}.d.ts`, text);
    writeFileSync(`${folder}/${name}.d.cts`, text.replaceAll('.d.ts"', '.d.cts"'));
  }
}

const written = (paths: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(paths).map(([name, path]) => [name, readFileSync(new URL(path, import.meta.url), "utf8")]),
  );

/** Every command, in the order of the root help. */
const allDeclared = async () => (await Promise.all((await groupNames()).map(declarationsOf))).flat();

const packageVersion = (): string => JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8")).version;

async function writeCommands(folder: string): Promise<void> {
  mkdirSync(`${folder}/commands`);
  for (const group of await groupNames()) {
    const declared = await declarationsOf(group);
    writeFileSync(join(folder, commandsFile(group)), declared.map((one) => JSON.stringify(one)).join("\n"));
  }
}

/** `man svc`, and `man svc-emulator` for each group: package.json names the pages. */
async function writeManual(folder: string): Promise<void> {
  const version = packageVersion();
  mkdirSync(folder, { recursive: true });
  const tree = await wholeTree(declarationsOf);
  writeFileSync(`${folder}/svc.1`, manualPage(tree, version));
  for (const group of tree) writeFileSync(`${folder}/svc-${group.name}.1`, groupManual(group, version));
}

if (import.meta.url === `file://${process.argv[1]}`) {
  const metafile = await bundle(new URL("dist", import.meta.url).pathname);
  // Where tests have the package built by npm, they look at what it was made of without building it once more.
  const { SVC_BUILD_METAFILE: told } = process.env;
  if (told) writeFileSync(told, JSON.stringify(metafile));
}
